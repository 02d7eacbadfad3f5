//! From an HTTP request to its answer: paths, methods, media types, the message, the operation.
//!
//! The one rule it keeps: every request gets exactly one answer that says what was wrong with it,
//! if something was.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use soapstone_xml::{IdAttributes, Limits, ParseOptions};

use crate::config::Config;
use crate::contract;
use crate::database::Database;
use crate::employees::EMPLOYEES;
use crate::fault::Fault;
use crate::json;
use crate::message::Message;
use crate::refusal::Refusal;
use crate::responses;
use crate::sensor::{Controller, ReadError, Sensor};
use crate::service::Service;
use crate::soap::SoapVersion;
use crate::start_error::StartError;

const PLAIN: &str = "text/plain; charset=utf-8";
const XML: &str = "text/xml; charset=utf-8";

/// What the answers are made from.
pub(crate) struct Answers {
    database: Database,
    sensor: Sensor,
    /// Ours, if nobody else runs it: it answers for as long as it is kept.
    _controller: Option<Controller>,
    address: SocketAddr,
    public_url: Option<String>,
    options: ParseOptions,
    patience: Duration,
}

type Answer = Response<Full<Bytes>>;

/// Where `getBooks` takes its rows from: the `source` in the query of the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Database,
    Memory,
}

/// Which records `EmployeeDetails` answers with: the `records` in the query of the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Records {
    All,
    One,
}

impl Answers {
    pub(crate) async fn open(
        database: Database,
        address: SocketAddr,
        config: &Config,
    ) -> Result<Self, StartError> {
        let (controller, own) = config.controller.open().await?;
        let mut limits = Limits::default();
        limits.message = config.message;
        let public_url = config.public_url.as_deref();
        Ok(Answers {
            database,
            sensor: Sensor::new(controller, config.sensor_patience),
            _controller: own,
            address,
            public_url: public_url.map(|url| url.trim_end_matches('/').to_owned()),
            options: ParseOptions {
                limits,
                ids: IdAttributes::standard(),
            },
            patience: config.patience,
        })
    }

    /// Closes the database.
    pub(crate) async fn close(&self) {
        self.database.close().await;
    }

    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Answer {
        let started = Instant::now();
        let (head, body) = request.into_parts();
        let answer = match Service::at(head.uri.path()) {
            Some(service) if head.method == Method::POST => self.call(service, &head, body).await,
            Some(Service::Employees) if is_read(&head.method) && wants_json(&head) => {
                let employees = json::employee_details(EMPLOYEES);
                Ok(typed(StatusCode::OK, json::MEDIA_TYPE, employees))
            }
            Some(service) if is_read(&head.method) => self.contract(service, &head),
            Some(_) => Err(Refusal::Method {
                allowed: "GET, HEAD, POST",
            }),
            None => self.page(&head),
        };
        let answer = answer.unwrap_or_else(|refusal| refused(&refusal));
        tracing::debug!(
            method = %head.method,
            uri = %head.uri,
            status = answer.status().as_u16(),
            bytes = answer.body().size_hint().lower(),
            micros = started.elapsed().as_micros() as u64,
            "answered"
        );
        answer
    }

    /// Pages that belong to no service.
    fn page(&self, head: &Parts) -> Result<Answer, Refusal> {
        let text = match head.uri.path() {
            "/healthz" => "ok\n".to_owned(),
            "/" => self.index(head),
            path => {
                return Err(Refusal::Path {
                    found: path.to_owned(),
                });
            }
        };
        if is_read(&head.method) {
            Ok(typed(StatusCode::OK, PLAIN, text.into()))
        } else {
            Err(Refusal::Method {
                allowed: "GET, HEAD",
            })
        }
    }

    fn index(&self, head: &Parts) -> String {
        let base = self.base_url(head);
        let line = |service: Service| format!("{base}{0}\t{base}{0}?wsdl\n", service.path());
        let lines: String = Service::ALL.into_iter().map(line).collect();
        format!("The sample services and their contracts:\n{lines}")
    }

    /// `?wsdl` and `?xsd=N`.
    fn contract(&self, service: Service, head: &Parts) -> Result<Answer, Refusal> {
        let base = self.base_url(head);
        let contract = || format!("{base}{}?wsdl", service.path());
        let query = head.uri.query().unwrap_or_default();
        let (key, value) = query.split_once('=').unwrap_or((query, ""));
        let document = if key.eq_ignore_ascii_case("wsdl") {
            contract::wsdl(service, &base)
        } else if key.eq_ignore_ascii_case("xsd") {
            let number = value.parse().unwrap_or(0);
            contract::schema(service, number, &base).ok_or_else(|| Refusal::Schema {
                found: format!("{value:?}"),
                contract: contract(),
            })?
        } else {
            return Err(Refusal::Page {
                contract: contract(),
            });
        };
        Ok(typed(StatusCode::OK, XML, document.into()))
    }

    /// How the client reached this server: what it was told to be, or what the request calls it.
    fn base_url(&self, head: &Parts) -> String {
        if let Some(url) = &self.public_url {
            return url.clone();
        }
        let host = || {
            let host = head.headers.get(HOST)?.to_str().ok()?;
            host.parse::<http::uri::Authority>().ok()
        };
        match head.uri.authority().cloned().or_else(host) {
            Some(authority) => format!("http://{authority}"),
            None => format!("http://{}", self.address),
        }
    }

    async fn call(
        &self,
        service: Service,
        head: &Parts,
        body: Incoming,
    ) -> Result<Answer, Refusal> {
        let version = announced(&head.headers)?;
        let bytes = self.read(body).await?;
        let answer = match self.operation(service, version, bytes, &head.uri).await {
            Ok(envelope) => typed(StatusCode::OK, version.content_type(), envelope),
            Err(fault) => {
                tracing::info!(operation = service.operation(), %fault, "answered with a fault");
                let status = fault.status(version);
                typed(status, version.content_type(), fault.envelope(version))
            }
        };
        Ok(answer)
    }

    async fn operation(
        &self,
        service: Service,
        version: SoapVersion,
        bytes: Vec<u8>,
        uri: &Uri,
    ) -> Result<Vec<u8>, Fault> {
        let length = bytes.len();
        let message = Message::parse(version, bytes, &self.options)?;
        match service {
            Service::Echo => Ok(responses::echo(version, &message.echo()?)),
            Service::EchoStringArray => {
                let strings = message.echo_string_array()?;
                let strings = strings.iter().map(AsRef::as_ref);
                Ok(responses::string_array(version, strings, length))
            }
            Service::Sum => {
                let (a, b) = message.sum()?;
                Ok(responses::sum(version, a, b))
            }
            Service::Employees => {
                let records = records(uri)?;
                message.employee_details()?;
                Ok(match records {
                    Records::All => responses::employee_details(version, EMPLOYEES),
                    Records::One => responses::one_employee(version),
                })
            }
            Service::Books => {
                let source = source(uri)?;
                let count = message.get_books()?;
                match source {
                    Source::Memory => Ok(responses::books(version, count)),
                    Source::Database => self.books(version, count).await,
                }
            }
            Service::Temperature => {
                message.get_temperature()?;
                let hundredths = self.temperature().await?;
                Ok(responses::temperature(version, hundredths))
            }
        }
    }

    async fn books(&self, version: SoapVersion, count: u32) -> Result<Vec<u8>, Fault> {
        let mut output = responses::start_books(version, count);
        self.database
            .books(count, |book| responses::write_book(&book, &mut output))
            .await
            .map_err(|error| {
                tracing::error!(%error, "getBooks failed");
                Fault::DatabaseUnavailable
            })?;
        Ok(responses::end_books(output))
    }

    async fn temperature(&self) -> Result<i16, Fault> {
        self.sensor.read().await.map_err(|error| match error {
            ReadError::Away { requests, waited } => Fault::ControllerAway { requests, waited },
            error @ (ReadError::NoSensor { .. } | ReadError::Socket(_)) => {
                tracing::error!(%error, "getTemperature failed");
                Fault::SensorUnavailable
            }
        })
    }

    /// The body of a request, whole.
    async fn read(&self, mut body: Incoming) -> Result<Vec<u8>, Refusal> {
        let limit = self.options.limits.message;
        let patience = self.patience;
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > limit {
            return Err(Refusal::Size { limit });
        }
        let whole = async {
            let mut bytes = Vec::with_capacity(announced);
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| Refusal::Broken {
                    cause: error.to_string(),
                })?;
                if let Some(data) = frame.data_ref() {
                    if bytes.len() + data.len() > limit {
                        return Err(Refusal::Size { limit });
                    }
                    bytes.extend_from_slice(data);
                }
            }
            Ok(bytes)
        };
        tokio::time::timeout(patience, whole)
            .await
            .unwrap_or(Err(Refusal::Late { patience }))
    }
}

/// The version of SOAP that the headers announce.
fn announced(headers: &HeaderMap) -> Result<SoapVersion, Refusal> {
    let shown = |value: &HeaderValue| format!("{value:?}");
    if let Some(encoding) = headers.get(CONTENT_ENCODING)
        && encoding != "identity"
    {
        return Err(Refusal::Encoding {
            found: shown(encoding),
        });
    }
    let Some(content_type) = headers.get(CONTENT_TYPE) else {
        return Err(Refusal::MediaType {
            found: "none".to_owned(),
        });
    };
    let mut parts = content_type
        .to_str()
        .unwrap_or_default()
        .split(';')
        .map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    let version = SoapVersion::ALL
        .into_iter()
        .find(|version| media_type.eq_ignore_ascii_case(version.media_type()))
        .ok_or_else(|| Refusal::MediaType {
            found: shown(content_type),
        })?;
    let charset = parts
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim_end().eq_ignore_ascii_case("charset"))
        .map(|(_, value)| value.trim().trim_matches('"').to_ascii_lowercase());
    match charset.as_deref() {
        // R1012 asks for UTF-8 and UTF-16; ASCII is a part of UTF-8.
        None | Some("utf-8" | "utf8" | "utf-16" | "utf-16le" | "utf-16be" | "us-ascii") => {
            Ok(version)
        }
        Some(_) => Err(Refusal::Charset {
            found: shown(content_type),
        }),
    }
}

/// Whether JSON is accepted, and no page asked for.
fn wants_json(head: &Parts) -> bool {
    let accepts = |value: &HeaderValue| {
        let mut types = value.to_str().unwrap_or_default().split(',');
        types.any(|it| {
            it.split(';')
                .next()
                .is_some_and(|it| it.trim() == json::MEDIA_TYPE)
        })
    };
    head.uri.query().is_none() && head.headers.get_all(ACCEPT).iter().any(accepts)
}

/// What the query of a URL says of a key.
fn asked<'u>(uri: &'u Uri, wanted: &str) -> Option<&'u str> {
    let mut pairs = uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(key, value)| (key == wanted).then_some(value))
}

fn records(uri: &Uri) -> Result<Records, Fault> {
    match asked(uri, "records") {
        None | Some("all") => Ok(Records::All),
        Some("one") => Ok(Records::One),
        Some(found) => Err(Fault::Value {
            parameter: "records",
            expected: "all or one".to_owned(),
            found: found.to_owned(),
        }),
    }
}

fn source(uri: &Uri) -> Result<Source, Fault> {
    match asked(uri, "source") {
        None | Some("database") => Ok(Source::Database),
        Some("memory") => Ok(Source::Memory),
        Some(found) => Err(Fault::Value {
            parameter: "source",
            expected: "database or memory".to_owned(),
            found: found.to_owned(),
        }),
    }
}

fn is_read(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

fn refused(refusal: &Refusal) -> Answer {
    let mut answer = typed(refusal.status(), PLAIN, format!("{refusal}\n").into());
    if let Some(allow) = refusal.allow() {
        let allow = HeaderValue::from_static(allow);
        answer.headers_mut().insert(ALLOW, allow);
    }
    answer
}

fn typed(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer
}
