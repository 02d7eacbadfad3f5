//! What a zone says, and what becomes of it: also where an attacker writes the zone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};

use super::*;
use crate::config::Config;
use crate::config::source::SourceSpec;

/// A server of DNS with records that the test writes: name and type, TTL and data.
struct Zone {
    address: SocketAddr,
    records: Arc<Mutex<Records>>,
    serving: tokio::task::JoinHandle<()>,
}

type Records = HashMap<(String, u16), Vec<(u32, Vec<u8>)>>;

impl Drop for Zone {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

const SRV: u16 = 33;
const OWN: &str = "_books._tcp.example.com";

impl Zone {
    async fn new() -> Self {
        let (listener, socket) = loop {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("it is bound");
            // Of both protocols the same port.
            if let Ok(socket) = UdpSocket::bind(address).await {
                break (listener, socket);
            }
        };
        let address = socket.local_addr().expect("it is bound");
        let records = Arc::new(Mutex::new(Records::new()));
        let known = Arc::clone(&records);
        let serving = tokio::spawn(async move {
            let mut asked = [0; 512];
            loop {
                tokio::select! {
                    received = socket.recv_from(&mut asked) => {
                        let (length, peer) = received.expect("a question");
                        let answer = in_a_datagram(answer(&asked[..length], &known));
                        socket.send_to(&answer, peer).await.expect("it is sent");
                    }
                    accepted = listener.accept() => {
                        let (mut stream, _) = accepted.expect("a connection");
                        let length = stream.read_u16().await.expect("a length");
                        let mut asked = vec![0; usize::from(length)];
                        stream.read_exact(&mut asked).await.expect("a question");
                        let answer = answer(&asked, &known);
                        let length = u16::try_from(answer.len()).expect("a length");
                        stream.write_u16(length).await.expect("it is sent");
                        stream.write_all(&answer).await.expect("it is sent");
                    }
                }
            }
        });
        Self {
            address,
            records,
            serving,
        }
    }

    fn add(&self, name: &str, kind: u16, ttl: u32, data: Vec<u8>) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let of_name = records.entry((name.to_owned(), kind)).or_default();
        of_name.push((ttl, data));
    }

    /// A record of the service.
    fn service(&self, priority: u16, weight: u16, port: u16, target: &str, ttl: u32) {
        let mut data = Vec::new();
        for word in [priority, weight, port] {
            data.extend_from_slice(&word.to_be_bytes());
        }
        data.extend_from_slice(&written(target));
        self.add(OWN, SRV, ttl, data);
    }

    fn v4(&self, host: &str, address: [u8; 4]) {
        self.add(host, 1, 3600, address.to_vec());
    }

    fn v6(&self, host: &str, address: &str) {
        let address: std::net::Ipv6Addr = address.parse().expect("an address");
        self.add(host, 28, 3600, address.octets().to_vec());
    }

    /// Has a question fail: the server answers that it failed.
    fn fail(&self, host: &str, kind: u16) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.insert((host.to_owned(), kind), Vec::new());
    }

    fn clear(&self) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.clear();
    }

    /// Looks up the service, which may be in these networks.
    async fn look_up(&self, networks: &str) -> Result<Found, LookupError> {
        look_up(&self.source(networks), &KnownAddresses::new()).await
    }

    fn source(&self, networks: &str) -> DnsSource {
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/books\"\n[routes.backends]\n\
             srv = \"http://_books._tcp.example.com/books\"\nnetworks = [{networks}]\nservers = [\"{}\"]\n",
            self.address
        );
        let config = Config::from_text(&text, "gateway.toml".as_ref(), &|_| None);
        let config = config.unwrap_or_else(|problems| panic!("{problems}"));
        match config.sources().next() {
            Some(SourceSpec::Dns(source)) => source.clone(),
            other => panic!("{other:?}"),
        }
    }
}

/// An answer, or that there is no room for it.
fn in_a_datagram(mut answer: Vec<u8>) -> Vec<u8> {
    if answer.len() > 1232 {
        answer[2] |= 0x02;
        answer[6..8].fill(0);
        answer.truncate(512);
    }
    answer
}

fn written(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        bytes.push(u8::try_from(label.len()).expect("a short label"));
        bytes.extend_from_slice(label.as_bytes());
    }
    bytes.push(0);
    bytes
}

/// The answer to a question: the records of its name, or that there is none of the name.
fn answer(asked: &[u8], known: &Mutex<Records>) -> Vec<u8> {
    let end = 12
        + asked[12..]
            .iter()
            .position(|byte| *byte == 0)
            .expect("an end");
    let mut labels = Vec::new();
    let mut at = 12;
    while at < end {
        let length = usize::from(asked[at]);
        labels.push(String::from_utf8_lossy(&asked[at + 1..=at + length]).into_owned());
        at += length + 1;
    }
    let kind = u16::from_be_bytes([asked[end + 1], asked[end + 2]]);
    let known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known.get(&(labels.join("."), kind));
    let mut message = asked[..end + 5].to_vec();
    message[2] |= 0x80;
    message[10..12].fill(0);
    match found {
        None => message[3] = 3,
        // No record is a failure of the server.
        Some(found) if found.is_empty() => message[3] = 2,
        Some(found) => {
            let count = u16::try_from(found.len()).expect("a count");
            message[6..8].copy_from_slice(&count.to_be_bytes());
            for (ttl, data) in found {
                message.extend_from_slice(&[192, 12]);
                message.extend_from_slice(&kind.to_be_bytes());
                message.extend_from_slice(&[0, 1]);
                message.extend_from_slice(&ttl.to_be_bytes());
                let length = u16::try_from(data.len()).expect("a length");
                message.extend_from_slice(&length.to_be_bytes());
                message.extend_from_slice(data);
            }
        }
    }
    message
}

/// URL, host, address, weight and whether it is a backup.
fn told(found: &Found) -> Vec<String> {
    let providers = found.providers.iter().map(|provider| {
        let target = provider.target.as_ref().expect("DNS names it");
        let DnsTarget {
            host,
            address,
            weight,
        } = target;
        let backup = if provider.backup { " backup" } else { "" };
        format!(
            "{} {host} {address} {weight}{backup}",
            provider.access_point
        )
    });
    providers.collect()
}

const TENS: &str = "\"10.0.0.0/8\", \"2001:db8::/32\"";

#[tokio::test]
async fn records_become_providers_by_priority_and_weight() {
    let zone = Zone::new().await;
    zone.service(10, 3, 8080, "one.example.com", 60);
    zone.service(10, 0, 8081, "two.example.com", 60);
    zone.service(20, 7, 8080, "three.example.com", 60);
    zone.service(30, 7, 8080, "three.example.com", 60);
    zone.v4("one.example.com", [10, 0, 0, 1]);
    zone.v4("two.example.com", [10, 0, 0, 2]);
    zone.v6("two.example.com", "2001:db8::2");
    zone.v4("three.example.com", [10, 0, 0, 3]);
    let found = zone.look_up(TENS).await.expect("an answer");
    let expected = [
        "http://example.com:8080/books one.example.com 10.0.0.1:8080 6",
        "http://example.com:8080/books three.example.com 10.0.0.3:8080 14 backup",
        "http://example.com:8081/books two.example.com 10.0.0.2:8081 1",
        "http://example.com:8081/books two.example.com [2001:db8::2]:8081 1",
    ];
    assert_eq!(told(&found), expected);
    assert_eq!(found.passed_over, [""; 0]);
    assert_eq!(found.holds, Duration::from_secs(60));
}

/// A zone that is taken over names this machine, its services of metadata, and whatever else is
/// behind the firewall (rebinding; SSRF).
#[tokio::test]
async fn an_address_outside_of_the_networks_is_no_backend() {
    let zone = Zone::new().await;
    for (host, address) in [
        ("loopback", [127, 0, 0, 1]),
        ("metadata", [169, 254, 169, 254]),
        ("inside", [192, 168, 0, 1]),
        ("zero", [0, 0, 0, 0]),
    ] {
        let host = format!("{host}.example.com");
        zone.service(1, 1, 80, &host, 60);
        zone.v4(&host, address);
    }
    // The same addresses in the clothes of IPv6.
    zone.service(1, 1, 80, "mapped.example.com", 60);
    zone.v6("mapped.example.com", "::ffff:127.0.0.1");
    zone.v6("mapped.example.com", "::1");
    let error = zone.look_up(TENS).await.expect_err("none counts");
    let said =
        "no record can be used: inside.example.com is at 192.168.0.1, where no backend may be";
    assert_eq!(error.to_string(), said);
    // One that counts is used, and the others are told of.
    zone.service(1, 1, 80, "one.example.com", 60);
    zone.v4("one.example.com", [10, 0, 0, 1]);
    let found = zone.look_up(TENS).await.expect("an answer");
    let expected = ["http://example.com:80/books one.example.com 10.0.0.1:80 1"];
    assert_eq!(told(&found), expected);
    assert_eq!(found.passed_over.len(), 6, "{:?}", found.passed_over);
}

#[tokio::test]
async fn what_is_no_host_is_no_backend_whatever_the_networks_are() {
    let zone = Zone::new().await;
    for (host, address) in [
        ("zero", [0, 0, 0, 0]),
        ("everybody", [255, 255, 255, 255]),
        ("many", [224, 0, 0, 1]),
    ] {
        let host = format!("{host}.example.com");
        zone.service(1, 1, 80, &host, 60);
        zone.v4(&host, address);
    }
    zone.service(1, 1, 80, "six.example.com", 60);
    zone.v6("six.example.com", "::");
    zone.v6("six.example.com", "ff02::1");
    zone.v6("six.example.com", "::ffff:0.0.0.0");
    let error = zone.look_up("\"0.0.0.0/0\", \"::/0\"").await;
    let error = error.expect_err("none counts").to_string();
    assert!(error.starts_with("no record can be used"), "{error}");
}

/// An answer that would have a gateway ask and connect without end (RFC 5358 and its kind).
#[tokio::test]
async fn numbers_of_records_and_addresses_are_bounded() {
    let zone = Zone::new().await;
    for number in 0..MOST_RECORDS {
        zone.service(1, 1, 80, &format!("h{}", number % 2), 60);
    }
    for address in 1..=8 {
        zone.v4("h0", [10, 0, 0, address]);
    }
    zone.v4("h1", [10, 0, 1, 1]);
    let found = zone.look_up(TENS).await.expect("as many as there may be");
    assert_eq!(found.providers.len(), 9);
    zone.service(1, 1, 80, "h2", 60);
    let error = zone.look_up(TENS).await.expect_err("one too many");
    let said = "expected at most 64 records of a service";
    assert_eq!(error.to_string(), said);
    zone.clear();
    for host in 0..5 {
        let host = format!("h{host}");
        zone.service(1, 1, 80, &host, 60);
        for address in 0..60 {
            zone.v4(&host, [10, 0, 0, address]);
        }
    }
    let error = zone.look_up(TENS).await.expect_err("too many");
    assert_eq!(error.to_string(), "expected at most 256 addresses");
    zone.clear();
    for port in 1..=64 {
        zone.service(1, 1, port, "h0", 60);
    }
    for address in 1..=5 {
        zone.v4("h0", [10, 0, 0, address]);
    }
    let error = zone.look_up(TENS).await.expect_err("too many");
    assert_eq!(error.to_string(), "expected at most 256 backends");
}

/// Nobody has a gateway ask all the time, and nobody is believed for a year.
#[tokio::test]
async fn an_answer_holds_neither_too_short_nor_too_long() {
    for (ttl, holds) in [(0, 5), (4, 5), (6, 6), (301, 300), (u32::MAX, 5)] {
        let zone = Zone::new().await;
        zone.service(1, 1, 80, "one.example.com", ttl);
        zone.v4("one.example.com", [10, 0, 0, 1]);
        let found = zone.look_up(TENS).await.expect("an answer");
        assert_eq!(found.holds, Duration::from_secs(holds), "{ttl}");
    }
    let zone = Zone::new().await;
    zone.service(1, 1, 80, "one.example.com", 200);
    zone.add("one.example.com", 1, 30, vec![10, 0, 0, 1]);
    let found = zone.look_up(TENS).await.expect("an answer");
    assert_eq!(found.holds, Duration::from_secs(30), "the shortest of all");
}

/// Servers that lost their zone say the same as zones without the service: that takes nothing out.
#[tokio::test]
async fn no_record_is_no_answer_and_the_root_is_one() {
    let zone = Zone::new().await;
    let error = zone.look_up(TENS).await.expect_err("nothing");
    assert_eq!(error.to_string(), "there is no record of the service");
    zone.service(1, 1, 80, "gone.example.com", 60);
    let error = zone.look_up(TENS).await.expect_err("no address");
    let said = "no record can be used: gone.example.com has no address";
    assert_eq!(error.to_string(), said);
    zone.clear();
    // RFC 2782: the service is decidedly not available.
    zone.service(0, 0, 0, "", 60);
    let found = zone.look_up(TENS).await.expect("an answer");
    assert_eq!(found.providers, []);
}

/// The time is the runtime's: nothing waits for a server that says nothing.
#[tokio::test(start_paused = true)]
async fn questions_have_their_end() {
    let silent = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let zone = Zone::new().await;
    let source = DnsSource {
        servers: Some(vec![silent.local_addr().expect("it is bound"); 50]),
        ..zone.source(TENS)
    };
    let begun = tokio::time::Instant::now();
    let known = KnownAddresses::new();
    let error = look_up(&source, &known).await.expect_err("silence");
    let said = "the answers were not complete within 30s";
    assert_eq!(error.to_string(), said);
    assert_eq!(begun.elapsed().as_secs(), 30);
}

/// RFC 2782: the weight is that of the target. One with more addresses gets no more requests.
#[tokio::test]
async fn the_addresses_of_a_host_share_its_weight() {
    let zone = Zone::new().await;
    zone.service(1, 10, 80, "one.example.com", 60);
    zone.service(1, 10, 80, "three.example.com", 60);
    zone.v4("one.example.com", [10, 0, 0, 1]);
    for last in 1..=3 {
        zone.v4("three.example.com", [10, 0, 1, last]);
    }
    // No backend, and so without a share.
    zone.v4("three.example.com", [192, 168, 0, 1]);
    let found = zone.look_up(TENS).await.expect("an answer");
    let weights = found.providers.iter().filter_map(|it| it.target.as_ref());
    let weights: Vec<u32> = weights.map(|it| it.weight).collect();
    assert_eq!(weights, [30, 10, 10, 10]);
}

#[tokio::test]
async fn a_host_that_cannot_be_looked_up_takes_no_other_one_out_of_use() {
    let zone = Zone::new().await;
    zone.service(1, 1, 80, "one.example.com", 60);
    zone.service(1, 2, 8080, "two.example.com", 60);
    zone.v4("one.example.com", [10, 0, 0, 1]);
    zone.fail("one.example.com", 28);
    for kind in [1, 28] {
        zone.fail("two.example.com", kind);
    }
    let one = "http://example.com:80/books one.example.com 10.0.0.1:80 1";
    let found = zone.look_up(TENS).await.expect("an answer");
    assert_eq!(told(&found), [one]);
    let failed = |host: &str| {
        let failed = format!("{host} cannot be looked up, what is known stays");
        let told = found.passed_over.iter();
        told.filter(|it| it.starts_with(&failed)).count()
    };
    assert_eq!(
        (failed("one.example.com"), failed("two.example.com")),
        (1, 1),
        "{found:?}"
    );
    assert_eq!(found.holds, SHORTEST, "it is asked again soon");
    // What was known of it stays, at the port and with the weight that DNS says now.
    let known = KnownAddresses::from([(
        "two.example.com".to_owned(),
        BTreeSet::from(["10.0.0.2".parse().expect("an address")]),
    )]);
    let found = look_up(&zone.source(TENS), &known).await;
    let two = "http://example.com:8080/books two.example.com 10.0.0.2:8080 2";
    assert_eq!(told(&found.expect("an answer")), [one, two]);
    // Where none can be looked up, there is no answer.
    zone.fail("one.example.com", 1);
    let error = look_up(&zone.source(TENS), &known).await;
    let error = error.expect_err("no host answers").to_string();
    assert!(error.contains("the server failed"), "{error}");
}
