//! Where calls go: the routes of both gateways, the instances of the services behind them, and the
//! URL of each call.
//!
//! The rule kept here: calls that differ in how their messages are made have routes of their own.

use std::time::Duration;

use soapstone_lab::study::{Call, Form, Operation, Sensor, Source, Stack, Transport};
use soapstone_services::{DatabaseLocation, Device};

use super::asked::{Asked, service};
use super::own::OwnServices;
use crate::failure::Failure;
use crate::testbed::{Instance, Layout, Network, Route, Target};

/// The largest message that the gateways let through, MiB: 25,000 books are 6 MiB, and 9 when they
/// are encrypted.
const LARGEST_MESSAGE: u32 = 32;

/// A route for each way through the gateways that the calls, which are ours, take; those past the
/// gateways have one, too. And the instances of the services that they need.
pub(in super::super) fn layout(
    name: &'static str,
    calls: &[Call],
    databases: &[Option<DatabaseLocation>],
    own: &OwnServices,
) -> Layout {
    let mut instances: Vec<Instance> = Vec::new();
    let mut routes: Vec<Route> = Vec::new();
    for call in calls {
        let target = match (call.operation, service(call.operation)) {
            (Operation::Own(index), _) => Target::Own {
                url: own[index].url.clone(),
                authorities: own[index].authorities.clone(),
            },
            (_, None) => continue,
            (operation, Some(service)) => {
                let needed = instance(operation, databases);
                let known = instances.iter().position(|it| it.name == needed.name);
                let instance = known.unwrap_or(instances.len());
                if known.is_none() {
                    instances.push(needed);
                }
                Target::Sample { instance, service }
            }
        };
        let route = Route {
            prefix: prefix(call),
            target,
            mechanism: call.setup.mechanism,
            proof: call.setup.proof,
            suite: call.setup.suite.to_owned(),
            rsa_bits: call.setup.rsa_bits,
            form: call.setup.form,
            tls: call.setup.transport.is_tls(),
            warm_up: None,
        };
        if routes.iter().all(|other| other.path() != route.path()) {
            routes.push(route);
        }
    }
    Layout {
        name,
        routes,
        instances,
        largest_message: LARGEST_MESSAGE,
    }
}

/// Whether the stack is a gateway of ours, and no program of others.
pub(in super::super) fn is_ours(stack: Stack) -> bool {
    matches!(stack, Stack::Soapstone | Stack::Tls)
}

/// Which instance of the services an operation needs: books from a database, or a sensor that is
/// not as usual, have their own.
fn instance(operation: Operation, databases: &[Option<DatabaseLocation>]) -> Instance {
    let database = match operation {
        Operation::Books {
            source: Source::Database(index),
            ..
        } => databases.get(index).and_then(Option::as_ref),
        // It has one, too, which is not asked: one that is filled already is there at once.
        _ => databases.iter().flatten().next(),
    };
    let device = match operation {
        Operation::Temperature(sensor) => Device {
            delay: Duration::from_millis(u64::from(sensor.delay)),
            loss: f64::from(sensor.lost) / 100.0,
            ..Device::default()
        },
        _ => Device::default(),
    };
    Instance {
        name: instance_name(operation),
        database: database.cloned().unwrap_or_default(),
        device,
    }
}

/// Its name, which stands in paths.
pub(super) fn instance_name(operation: Operation) -> String {
    match operation {
        Operation::Books {
            source: Source::Database(index),
            ..
        } => format!("database-{index}"),
        Operation::Temperature(sensor) if sensor != Sensor::PROMPT => {
            format!("sensor-{}-{}", sensor.delay, sensor.lost)
        }
        Operation::Own(index) => format!("own-{index}"),
        _ => "memory".to_owned(),
    }
}

/// What the path of the call's route begins with. Ways of the same name whose messages are made
/// otherwise have another one.
pub(super) fn prefix(call: &Call) -> String {
    let form = match call.setup.form {
        Form::Preset => "",
        Form::Thumbprints => "/thumbprints",
    };
    format!(
        "/{}/{}{form}",
        instance_name(call.operation),
        call.setup.arm()
    )
}

/// The URL of a call, which `before` begins on the gateway for clients.
pub(super) fn url(
    network: &Network,
    call: &Call,
    asked: &Asked,
    before: &str,
    own: &OwnServices,
) -> Result<String, Failure> {
    let (path, query) = (asked.path, &asked.query);
    if let (Operation::Own(index), true) = (call.operation, call.setup.direct) {
        return Ok(format!("{}{query}", own[index].url));
    }
    if call.setup.direct && call.setup.transport == Transport::Http {
        let address = network.services(&instance_name(call.operation));
        let address =
            address.ok_or_else(|| Failure::new("the sample services were not started"))?;
        return Ok(format!("http://{address}{path}{query}"));
    }
    if call.stack == Stack::Tls && call.setup.transport == Transport::Http {
        let address = network.inbound();
        return Ok(format!("http://{address}{}{path}{query}", prefix(call)));
    }
    if call.stack == Stack::Tls || call.setup.direct {
        // Nothing is before the services but a gateway that ends TLS.
        let port = network.inbound_tls();
        let port = port.ok_or_else(|| Failure::new("no gateway was started behind TLS"))?;
        return Ok(format!(
            "https://localhost:{port}{}{path}{query}",
            prefix(call)
        ));
    }
    let address = network.outbound();
    Ok(format!(
        "http://{address}{before}{}{path}{query}",
        prefix(call)
    ))
}
