//! What a person on call asks the ledger.
