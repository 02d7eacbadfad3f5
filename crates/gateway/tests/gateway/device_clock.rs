//! A device that speaks ONVIF and whose clock is off: it is asked for its time before the first
//! request, and accepts tokens that are fresh by its own clock alone.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use jiff::{SignedDuration, Timestamp};
use soapstone::wss::parse_date_time;
use soapstone_gateway::Config;

use crate::support::{Backend, ENVELOPE, Folder, Seen, get, post, send};

/// How far a token may be off at the device.
const FRESH: SignedDuration = SignedDuration::from_secs(30);
const HOUR: i64 = 3_600;

/// What the device service answers.
#[derive(Clone, Copy)]
enum Told {
    /// The time of its clock.
    Time,
    /// A time that is ahead of its clock by that many seconds.
    Lie(i64),
    /// Its local time alone.
    LocalTime,
    /// A fault with the status of one.
    Fault,
    /// Its time, and another status than that of an answer.
    Forbidden,
    /// Its time, which leads elsewhere.
    Redirect,
}

/// The state of a device.
#[derive(Clone)]
struct Device {
    /// Seconds that its clock is ahead.
    ahead: Arc<Mutex<i64>>,
    told: Arc<Mutex<Told>>,
}

impl Device {
    fn new(ahead: i64, told: Told) -> Self {
        Self {
            ahead: Arc::new(Mutex::new(ahead)),
            told: Arc::new(Mutex::new(told)),
        }
    }

    fn now(&self) -> Timestamp {
        let ahead = *self.ahead.lock().expect("nobody panicked");
        let now = Timestamp::now().checked_add(SignedDuration::from_secs(ahead));
        now.expect("a time")
    }

    async fn start(&self) -> Backend {
        let device = self.clone();
        Backend::answering(move |seen| match seen.uri.path() {
            "/onvif/device_service" | "/other" => device.time(seen),
            _ => device.judge(seen),
        })
        .await
    }

    /// `GetSystemDateAndTime`, which is for everybody.
    fn time(&self, seen: &Seen) -> Response<Full<Bytes>> {
        let body = std::str::from_utf8(&seen.body).expect("text");
        assert!(body.contains("GetSystemDateAndTime"), "{body}");
        assert!(!body.contains("Security"), "{body}");
        assert!(!seen.headers.contains_key("authorization"));
        let media = seen.headers["content-type"].to_str().expect("text");
        assert_eq!(
            media,
            "application/soap+xml; charset=utf-8; \
             action=\"http://www.onvif.org/ver10/device/wsdl/GetSystemDateAndTime\""
        );
        let told = *self.told.lock().expect("nobody panicked");
        let now = self.now();
        let (name, now) = match told {
            Told::LocalTime => ("LocalDateTime", now),
            Told::Lie(seconds) => {
                let later = now.checked_add(SignedDuration::from_secs(seconds));
                ("UTCDateTime", later.expect("a time"))
            }
            _ => ("UTCDateTime", now),
        };
        let time = now.strftime(
            "<t:Time><t:Hour>%-H</t:Hour><t:Minute>%-M</t:Minute><t:Second>%-S</t:Second></t:Time>\
             <t:Date><t:Year>%Y</t:Year><t:Month>%-m</t:Month><t:Day>%-d</t:Day></t:Date>",
        );
        let (status, inside) = match told {
            Told::Fault => (
                StatusCode::BAD_REQUEST,
                "<e:Fault><e:Code><e:Value>e:Sender</e:Value></e:Code><e:Reason>\
                 <e:Text xml:lang=\"en\">no</e:Text></e:Reason></e:Fault>"
                    .to_owned(),
            ),
            _ => (
                match told {
                    Told::Forbidden => StatusCode::FORBIDDEN,
                    Told::Redirect => StatusCode::TEMPORARY_REDIRECT,
                    _ => StatusCode::OK,
                },
                format!(
                    "<d:GetSystemDateAndTimeResponse xmlns:d=\"http://www.onvif.org/ver10/device/wsdl\">\
                     <d:SystemDateAndTime xmlns:t=\"http://www.onvif.org/ver10/schema\">\
                     <t:DateTimeType>Manual</t:DateTimeType><t:DaylightSavings>false</t:DaylightSavings>\
                     <t:{name}>{time}</t:{name}></d:SystemDateAndTime></d:GetSystemDateAndTimeResponse>"
                ),
            ),
        };
        let mut response = soap12(status, &inside);
        if matches!(told, Told::Redirect) {
            let elsewhere = "http://127.0.0.1:9/other".parse().expect("a value");
            response.headers_mut().insert("location", elsewhere);
        }
        response
    }

    /// Another operation: the token must be fresh by the device's clock.
    fn judge(&self, seen: &Seen) -> Response<Full<Bytes>> {
        let body = std::str::from_utf8(&seen.body).expect("text");
        let created = body.split("<wsu:Created>").nth(1).expect("a time");
        let created = created.split('<').next().and_then(parse_date_time);
        let apart = created.expect("a time").duration_since(self.now());
        if apart.abs() > FRESH {
            return soap12(
                StatusCode::BAD_REQUEST,
                "<e:Fault><e:Code><e:Value>e:Sender</e:Value></e:Code>\
                <e:Reason><e:Text xml:lang=\"en\">not authorized</e:Text></e:Reason></e:Fault>",
            );
        }
        let mut response = Response::new(Full::new(Bytes::from_static(ENVELOPE.as_bytes())));
        let media = "text/xml".parse().expect("a value");
        response.headers_mut().insert("content-type", media);
        response
    }
}

fn soap12(status: StatusCode, inside: &str) -> Response<Full<Bytes>> {
    let body = format!(
        "<e:Envelope xmlns:e=\"http://www.w3.org/2003/05/soap-envelope\"><e:Body>{inside}</e:Body></e:Envelope>"
    );
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let media = "application/soap+xml; charset=utf-8"
        .parse()
        .expect("a value");
    response.headers_mut().insert("content-type", media);
    response
}

fn text(backend: &Backend, clock: &str) -> String {
    let address = backend.address;
    format!(
        "LISTEN\n[[routes]]\npath = \"/media\"\nbackend = \"http://{address}/onvif/media_service\"\n[routes.outbound]\n\
         users = [{{ name = \"admin\", password = \"pw\" }}]\n\
         security = {{ mechanism = \"username\", timestamp = false, clock = {{ {clock} }} }}\n"
    )
}

const ONVIF: &str = "offset = \"auto\", from = \"onvif\"";

/// The status of a request for each.
async fn statuses(text: &str, requests: usize) -> (Vec<u16>, f64) {
    let folder = Folder::new();
    let gateway = folder.gateway(text).await;
    let mut found = Vec::new();
    for _ in 0..requests {
        let answer = send(gateway.address(), post("/media", ENVELOPE)).await;
        found.push(answer.status.as_u16());
    }
    let metrics = send(gateway.address(), get("/metrics")).await.body;
    let of = "soapstone_peer_clock_offset_seconds{route=\"/media\",direction=\"outbound\"} ";
    let line = metrics.lines().find_map(|line| line.strip_prefix(of));
    (found, line.expect("a metric").parse().expect("a number"))
}

/// Paths that a device was asked at.
fn asked(backend: &mut Backend) -> Vec<String> {
    let mut paths = Vec::new();
    while let Ok(seen) = backend.seen.try_recv() {
        paths.push(seen.uri.path().to_owned());
    }
    paths
}

#[tokio::test]
async fn the_first_request_has_its_time_by_the_clock_of_the_device() {
    for ahead in [HOUR / 2, -HOUR / 2] {
        let device = Device::new(ahead, Told::Time);
        let mut backend = device.start().await;
        let (statuses, offset) = statuses(&text(&backend, ONVIF), 3).await;
        assert_eq!(statuses, [200, 200, 200]);
        assert!((offset - ahead as f64).abs() <= 2.0, "{offset}");
        // It is asked once for all of them, and not at each.
        let expected = [
            "/onvif/device_service",
            "/onvif/media_service",
            "/onvif/media_service",
            "/onvif/media_service",
        ];
        assert_eq!(asked(&mut backend), expected);
    }
}

#[tokio::test]
async fn a_device_is_asked_at_its_own_path() {
    let device = Device::new(HOUR / 2, Told::Time);
    let mut backend = device.start().await;
    let clock = format!("{ONVIF}, device = \"/other\"");
    let (statuses, _) = statuses(&text(&backend, &clock), 1).await;
    assert_eq!(statuses, [200]);
    assert_eq!(asked(&mut backend), ["/other", "/onvif/media_service"]);
}

/// Whoever answers in the place of the device could otherwise have tokens for any later time, to
/// be used then.
#[tokio::test]
async fn a_device_is_not_believed_beyond_the_bound() {
    for (told, clock) in [
        (Told::Lie(2 * HOUR), ONVIF.to_owned()),
        (Told::Lie(-2 * HOUR), ONVIF.to_owned()),
        (Told::Lie(120), format!("{ONVIF}, limit = \"1m\"")),
        (Told::Lie(50 * 365 * 24 * HOUR), ONVIF.to_owned()),
    ] {
        let device = Device::new(0, told);
        let backend = device.start().await;
        let (statuses, offset) = statuses(&text(&backend, &clock), 2).await;
        assert_eq!(statuses, [200, 200], "{clock}");
        assert!(offset.abs() < f64::EPSILON, "{offset}");
    }
}

#[tokio::test]
async fn a_device_that_tells_no_time_refuses_nothing() {
    for told in [
        Told::LocalTime,
        Told::Fault,
        Told::Forbidden,
        Told::Redirect,
    ] {
        let device = Device::new(20, told);
        let mut backend = device.start().await;
        let (statuses, offset) = statuses(&text(&backend, ONVIF), 2).await;
        assert_eq!(statuses, [200, 200]);
        assert!(offset.abs() < f64::EPSILON, "{offset}");
        // It is left alone for a while.
        assert_eq!(asked(&mut backend).len(), 3);
    }
}

#[tokio::test]
async fn all_first_requests_wait_for_one_question() {
    let device = Device::new(HOUR / 2, Told::Time);
    let mut backend = device.start().await;
    let folder = Folder::new();
    let gateway = folder.gateway(&text(&backend, ONVIF)).await;
    let address = gateway.address();
    let sent = (0..8).map(|_| tokio::spawn(send(address, post("/media", ENVELOPE))));
    for answer in sent.collect::<Vec<_>>() {
        assert_eq!(answer.await.expect("an answer").status, StatusCode::OK);
    }
    let asked = asked(&mut backend);
    let times = asked.iter().filter(|path| *path == "/onvif/device_service");
    assert_eq!(times.count(), 1, "{asked:?}");
}

#[test]
fn a_device_is_asked_where_the_file_makes_sense_of_it() {
    let folder = Folder::with_keys();
    let read = |backend: &str, mechanism: &str, clock: &str| {
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/a\"\n{backend}\n[routes.outbound]\n\
             identity = {{ key = \"client.key.pem\", certificate = \"client.cert.pem\" }}\ntrust = {{ pinned = [\"server.cert.pem\"] }}\n\
             users = [{{ name = \"admin\", password = \"pw\" }}]\n\
             security = {{ mechanism = \"{mechanism}\", clock = {{ {clock} }} }}\n"
        );
        let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        config
            .err()
            .map(|problems| problems.to_string())
            .unwrap_or_default()
    };
    let one = "backend = \"http://127.0.0.1:9\"";
    let two = "backends = [{ url = \"http://127.0.0.1:9\" }, { url = \"http://127.0.0.1:10\" }]";
    for (backend, mechanism, clock, told) in [
        // Its answers are judged by what nothing proves.
        (
            one,
            "sign",
            ONVIF,
            "a clock is learnt without TLS, and answers are judged by it",
        ),
        (two, "username", ONVIF, "the route has several backends"),
        (
            one,
            "username",
            "offset = \"auto\", device = \"/a\"",
            "`device` is of a device that is asked for its clock",
        ),
        (
            one,
            "username",
            "offset = \"-37s\", from = \"onvif\"",
            "`from` is of a clock that is learnt",
        ),
        (
            one,
            "username",
            "offset = \"auto\", from = \"onvif\", device = \"http://169.254.169.254/\"",
            "`device` must be a path on the backend's host",
        ),
        (
            one,
            "username",
            "offset = \"auto\", from = \"onvif\", device = \"//other.example/\"",
            "`device` must be a path on the backend's host",
        ),
        // No path of a URI has these.
        (
            one,
            "username",
            "offset = \"auto\", from = \"onvif\", device = \"/a<b>\"",
            "`device` must be a path on the backend's host",
        ),
    ] {
        let found = read(backend, mechanism, clock);
        assert!(found.contains(told), "{clock}: {found}");
    }
    assert_eq!(read(one, "username", ONVIF), "");
}

/// Nobody asks there, and the clock would never be learnt.
#[test]
fn a_device_is_asked_by_no_endpoint_that_faces_others() {
    let folder = Folder::with_keys();
    let read = |text: &str| {
        let text = format!("listen = \"127.0.0.1:0\"\n{text}");
        let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        config
            .err()
            .map(|problems| problems.to_string())
            .unwrap_or_default()
    };
    let registry = |clock: &str| {
        format!(
            "[registry]\nurl = \"http://127.0.0.1:1/uddi\"\n[registry.client]\n\
             identity = {{ key = \"client.key.pem\", certificate = \"client.cert.pem\" }}\n\
             trust = {{ pinned = [\"server.cert.pem\"] }}\n\
             security = {{ mechanism = \"sign\"{clock} }}\n"
        )
    };
    let route = |clock: &str| {
        format!(
            "[[routes]]\npath = \"/a\"\n[routes.backends]\nservice = \"Cameras\"\nowners = [\"CN=p1\"]\n\
             [[routes.backends.policies]]\nowners = [\"CN=p1\"]\n[routes.backends.policies.outbound]\n\
             users = [{{ name = \"admin\", password = \"pw\" }}]\n\
             security = {{ mechanism = \"username\"{clock} }}\n"
        )
    };
    let clock = format!(", clock = {{ {ONVIF} }}");
    assert_eq!(read(&(registry("") + &route(""))), "");
    let found = read(&(registry("") + &route(&clock)));
    assert!(
        found.contains("the policy is for several providers"),
        "{found}"
    );
    let found = read(&(registry(&clock) + &route("")));
    assert!(found.contains("a registry is no device"), "{found}");
}
