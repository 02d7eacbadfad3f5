//! `warm_up` of a route: the request that is sent before `/readyz` says yes.
//!
//! The rule kept here: a warm-up that cannot go through the steps of its route is a mistake in the
//! file.

use std::sync::Arc;
use std::time::Duration;

use soapstone::config::{EndpointConfig, Place, Table};
use soapstone::endpoint::{Client, Service};
use soapstone::wss::{Envelope, SoapVersion};
use soapstone::xml::{Buffers, Limits};

/// `warm_up` of a route.
pub(crate) struct WarmUp {
    /// A plain message.
    pub(crate) request: Vec<u8>,
    pub(crate) version: SoapVersion,
    /// The action that is said beside the message; empty for none.
    pub(crate) action: String,
    /// How often the request is sent, one after the other.
    pub(crate) times: u64,
    /// For all of them.
    pub(crate) within: Duration,
    /// Whose messages `inbound` opens in the warm-up.
    pub(crate) client: Option<Arc<Client>>,
}

/// How long a warm-up may keep a gateway from being ready, unless the file says otherwise.
const WITHIN: Duration = Duration::from_secs(30);

/// Most requests of a warm-up.
const MOST: u64 = 1000;

/// Reads `warm_up` of a route with that `inbound`. What is wrong with it has been reported where
/// there is nothing.
pub(super) fn read_warm_up(mut table: Table<'_>, inbound: Option<&Service>) -> Option<WarmUp> {
    const EXAMPLE: &str = "name a file with a plain message: request = \"ping.xml\"";
    let place = table.place();
    if !table.has("request") {
        table.missing("request", EXAMPLE);
    }
    let request = table.file("request");
    let action = table.string("action").map(|action| action.value);
    let times = table.integer("times", 1, MOST).map(|times| times.value);
    let within = table.duration("within");
    if let Some(given) = within.as_ref().filter(|given| given.value.is_zero()) {
        let message = "`within` must be longer than nothing, found 0";
        table.report(given.place, message);
    }
    let client_place = table.place_of("client");
    let client = table.table("client").map(read_client);
    if inbound.is_some_and(|inbound| inbound.conversation().is_some()) {
        table.report_with_hint(
            place,
            "`warm_up` begins no conversation with `inbound`",
            "leave it out: the first client begins one",
        );
    }
    if let (Some(place), None) = (client_place, inbound) {
        table.report(
            place,
            "`client` is for a route with `inbound`: it secures what that opens",
        );
    }
    let request = request.and_then(|file| {
        let bytes = file.bytes.expose().clone();
        let read = Envelope::parse(bytes.clone(), &Limits::default(), &mut Buffers::default());
        match read {
            Ok(envelope) => Some((bytes, envelope.version())),
            Err(_) => {
                let message = "`request` names a file that is no SOAP message";
                table.report_with_hint(file.place, message, EXAMPLE);
                None
            }
        }
    });
    table.finish();
    let (request, version) = request?;
    Some(WarmUp {
        request,
        version,
        action: action.unwrap_or_default(),
        times: times.unwrap_or(1),
        within: within.map_or(WITHIN, |within| within.value),
        client: match client {
            Some(client) => Some(client?),
            None => None,
        },
    })
}

fn read_client(table: Table<'_>) -> Option<Arc<Client>> {
    let document = table.document();
    let config = EndpointConfig::read(table)?;
    let report = |place: Place, message: &str| document.report(config.problem(place, message));
    if let Some(time) = &config.security.time {
        report(
            time.place,
            "`time` is for single messages, and would stop the clock of the client",
        );
    }
    let endpoint = match Client::from_config(&config) {
        Ok(endpoint) => endpoint,
        Err(problems) => {
            let problems = problems.0.into_iter();
            problems.for_each(|problem| document.report(problem));
            return None;
        }
    };
    if endpoint.conversation().is_some() {
        let place = config.security.source.place;
        report(place, "the client of a `warm_up` begins no conversation");
    }
    Some(Arc::new(endpoint))
}
