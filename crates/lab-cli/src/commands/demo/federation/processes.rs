//! Everything that runs: two token services, the services, and the gateways around them, each a
//! process of its own; and two taps, which keep what the services see.
//!
//! The rule kept here: token services, gateways and the books service are started by the commands
//! that an operator starts them with.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::net::SocketAddr;

use serde_json::Value;
use soapstone::crypto::{KeyKind, SecretBytes, base64};
use soapstone_services::Service;

use super::cast::{self, ALICE, BOB, Backends, KEYS};
use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};
use crate::testbed::architecture::write;
use crate::testbed::{Child, Scratch, Tap, Trail};

/// A gateway, with its audit trail and its log.
pub(super) struct Gateway {
    child: Child,
    audit: Trail,
    /// Lines of the audit trail that nobody has asked for.
    unread: VecDeque<Value>,
    log: Trail,
}

impl Gateway {
    fn start(scratch: &Scratch, name: &str, text: &str) -> Result<Self, Failure> {
        let file = write(scratch, name, text)?;
        let log = scratch.folder().join(format!("{name}.log"));
        let lines = File::create(&log).map_err(|error| Failure::file(&log, error))?;
        let arguments = ["gateway".as_ref(), "--config".as_ref(), file.as_os_str()];
        let child = Child::start(&[], &arguments, Some(&lines)).map_err(|why| {
            Failure::new(format_args!("the gateway of {}: {why}", file.display()))
        })?;
        Ok(Self {
            child,
            audit: Trail::new(scratch.folder().join(cast::audit(name))),
            unread: VecDeque::new(),
            log: Trail::new(log),
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.child.address()
    }

    /// The next line of the audit trail that is such a one.
    pub(super) async fn told(&mut self, is_it: impl Fn(&Value) -> bool) -> Result<Value, Failure> {
        loop {
            while let Some(line) = self.unread.pop_front() {
                if is_it(&line) {
                    return Ok(line);
                }
            }
            self.unread.extend(self.audit.next(1).await?);
        }
    }

    /// What the log says of the next message that is refused.
    pub(super) async fn detail(&mut self) -> Result<String, Failure> {
        loop {
            for line in self.log.next(1).await? {
                if let Some(detail) = line["detail"].as_str() {
                    return Ok(detail.to_owned());
                }
            }
        }
    }
}

/// Everything that runs. Fields are dropped in their order.
pub(super) struct Processes {
    pub(super) client: Gateway,
    pub(super) front: Gateway,
    pub(super) behind_front: Gateway,
    pub(super) books: Gateway,
    pub(super) sts: Gateway,
    pub(super) stranger: Gateway,
    /// What the front service sees.
    pub(super) front_tap: Tap,
    /// What the books service sees.
    pub(super) books_tap: Tap,
    _front_service: Child,
    /// The books service.
    pub(super) services: Child,
}

impl Processes {
    /// Starts everything, from the end of the chain. To be called on a runtime.
    ///
    /// # Errors
    /// Why something does not start.
    pub(super) async fn start(scratch: &Scratch) -> Result<Self, Failure> {
        for name in KEYS {
            scratch.issue_as(name, KeyKind::Rsa { bits: 2048 })?;
        }
        for user in [ALICE, BOB] {
            let file = scratch.folder().join(cast::password(user));
            let password = base64::encode(SecretBytes::random(24).expose());
            files::create(&file, password.as_bytes(), Privacy::Secret, Existing::Keep)?;
        }
        let sts = Gateway::start(scratch, cast::STS, &cast::token_service())?;
        let strange = cast::strange_token_service();
        let stranger = Gateway::start(scratch, cast::STRANGER, &strange)?;
        let arguments = ["services", "--listen", "127.0.0.1:0"].map(OsStr::new);
        let services = Child::start(&[], &arguments, None)
            .map_err(|why| Failure::new(format_args!("the books service: {why}")))?;
        let books_tap = Tap::start(services.address()).await?;
        let backends = Backends {
            watched: books_tap.address(),
            service: services.address(),
        };
        let text = cast::before_books(&backends, Service::Books.path());
        let books = Gateway::start(scratch, "books", &text)?;
        let text = cast::behind_front(sts.address(), books.address());
        let behind_front = Gateway::start(scratch, "front-out", &text)?;
        let address = behind_front.address().to_string();
        let arguments = ["front", "--books", &address].map(OsStr::new);
        let front_service = Child::apart(&arguments, |_| {}, None)
            .map_err(|why| Failure::new(format_args!("the front service: {why}")))?;
        let front_tap = Tap::start(front_service.address()).await?;
        let backends = Backends {
            watched: front_tap.address(),
            service: front_service.address(),
        };
        let front = Gateway::start(scratch, "front", &cast::before_front(&backends))?;
        let text = cast::client(sts.address(), front.address());
        let client = Gateway::start(scratch, "client", &text)?;
        Ok(Self {
            client,
            front,
            behind_front,
            books,
            sts,
            stranger,
            front_tap,
            books_tap,
            _front_service: front_service,
            services,
        })
    }
}
