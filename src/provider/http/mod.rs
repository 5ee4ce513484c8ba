//! The declarative provider.
