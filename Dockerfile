# One image for the worker (nuncio) and the jobs (reconcile, prune).

FROM rust:1.95-slim-bookworm AS build
WORKDIR /nuncio
# Queries are checked against .sqlx; no database at build time.
ENV SQLX_OFFLINE=true

# The dependencies, compiled with empty sources: a layer that only Cargo.toml and Cargo.lock change.
COPY Cargo.toml Cargo.lock ./
RUN mkdir src jobs benches \
    && touch src/lib.rs \
    && for main in src/main.rs jobs/reconcile.rs jobs/prune.rs benches/throughput.rs; do \
        echo 'fn main() {}' >"$main"; \
    done \
    && cargo build --release --locked --bins

# COPY keeps the files' own times, which may be older than the empty sources' build.
COPY . .
RUN find src jobs -name '*.rs' -exec touch {} + \
    && cargo build --release --locked --bins

# glibc, CA certificates and user 65532; no shell, no package manager.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build \
    /nuncio/target/release/nuncio \
    /nuncio/target/release/reconcile \
    /nuncio/target/release/prune \
    /usr/local/bin/
EXPOSE 8080
ENTRYPOINT ["nuncio"]
CMD ["run", "--config", "/etc/nuncio/nuncio.toml"]
