//! A provider whose certificate has run out.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::{AtLeastOnce, AtMostOnce};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::super::harness::{Channel, Gives, Row, World};

/// An authority, and its certificate.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut its = CertificateParams::default();
        its.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = its.self_signed(&key).expect("signed").pem();
        let issuer = Issuer::new(its, key);
        Self { issuer, pem }
    }

    /// Of a server on this machine, until the first day of a year.
    fn certify(&self, until: i32) -> TlsAcceptor {
        let key = KeyPair::generate().expect("a key");
        let mut its = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address");
        its.not_before = date_time_ymd(2020, 1, 1);
        its.not_after = date_time_ymd(until, 1, 1);
        let certificate = its.signed_by(&key, &self.issuer).expect("signed");
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("the key is the certificate's");
        Arc::new(config).into()
    }
}

/// Speaks TLS before a server, with the certificate that it has at the moment.
async fn before(server: SocketAddr, now: Arc<Mutex<TlsAcceptor>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let acceptor = now.lock().expect("no holder of it panics").clone();
            tokio::spawn(async move {
                let Ok(mut client) = acceptor.accept(client).await else {
                    return;
                };
                let mut server = TcpStream::connect(server).await.expect("it is there");
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_an_expired_certificate_nothing_is_sent_and_all_once_it_is_renewed() {
    let world = World::new().await;
    let authority = Authority::new();
    let shown = Arc::new(Mutex::new(authority.certify(2021)));
    let address = before(world.sandbox.address, shown.clone()).await;
    let channel = |name, policy| {
        let mut channel = Channel::new(name, policy, Gives::Nothing).through(address);
        channel.scheme = "https";
        channel
    };
    let config = world
        .config()
        .channel(channel("once", AtMostOnce))
        .channel(channel("again", AtLeastOnce));
    let publisher = world.publisher(&config).await;
    // The authority is trusted: nothing is wrong with the certificate but its age.
    let trusted = world.file(&config).with_extension("pem");
    std::fs::write(&trusted, &authority.pem).expect("a file");
    let trusted = trusted.to_str().expect("the path is text").to_owned();
    let mut worker = world.spawn_with(&config, &[], &[("SSL_CERT_FILE", trusted)]);
    worker.ready().await;
    for name in ["once", "again"] {
        publisher.send(name, "order-1").await;
    }
    for name in ["once", "again"] {
        let tried = |row: &Row| row.phase == Phase::Queued && row.attempt >= 2;
        let row = world
            .row_when("was tried twice", name, "order-1", tried)
            .await;
        assert_eq!(row.doubt_since, None, "{row:#?}");
        let said = row.last_text.expect("said");
        assert!(said.contains("expired"), "{said}");
    }
    let summary = world.sandbox.summary().await;
    assert_eq!(summary["requests"], 0, "nothing came through");

    *shown.lock().expect("no holder of it panics") = authority.certify(2100);
    let rows = world.rest(2).await;
    assert!(
        rows.iter()
            .all(|row| row.phase == Phase::Sent && row.possible_duplicates == 0),
        "{rows:#?}"
    );
    for row in &rows {
        assert_eq!(world.sandbox.so_far(row.id).await.requests.len(), 1);
    }
    worker.stop().await;
    world.audit(&config).await;
}
