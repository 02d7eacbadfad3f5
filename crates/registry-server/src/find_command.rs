//! `soapstone registry find`: services by name, in any registry of UDDI version 3.
//!
//! The rule kept here: what is shown is the word of the registry that was asked. It is read
//! strictly and bounded, and nothing is called.

use std::time::Duration;

use http::StatusCode;
use soapstone::wss::{Envelope, SoapVersion};
use soapstone::xml::{Buffers, Element, Limits};
use soapstone_cli::failure::Failure;
use soapstone_cli::table::{Align, Table};
use soapstone_cli::{files, runtime};
use soapstone_gateway::{OneLine, Unfetched, post_soap};
use soapstone_registry::names::{PROTOCOL_SOAP, REMOTE_POLICY};
use soapstone_registry::{Answer, BindingTemplate, BusinessService, Find, Request, Text, uddi};

use crate::envelope::around;

pub(crate) const ABOUT: &str = "\
Find services by name in a registry of UDDI version 3: where they take calls, and where their WSDL and policy are.

It asks at the address for inquiries, of this program or of another one. Inquiries have no signature: what is shown is the word of \
whoever answers.";

const EXAMPLES: &str = "\
Examples:
  soapstone registry find --registry http://127.0.0.1:8701/uddi --service Books
  soapstone registry find --registry http://juddi.example:8080/juddiv3/services/inquiry --service 'Boo%' --approximate --json";

const SOAP11: &str = "http://schemas.xmlsoap.org/soap/envelope/";
/// How long a registry may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of the largest answer: as many as our own registry answers with.
const LARGEST: u64 = 8 << 20;
/// Services that are asked for in one request: registries bound the keys of one.
const AT_ONCE: usize = 50;
/// Services that are shown at most: as many as our own registry lists.
const MOST: usize = 1_000;

/// Arguments of `soapstone registry find`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FindArguments {
    /// Address of the registry for inquiries
    #[arg(long, value_name = "URL")]
    registry: String,
    /// Name of the service
    #[arg(long, value_name = "NAME")]
    service: String,
    /// In the name, % stands for any characters, and _ for one
    #[arg(long)]
    approximate: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows what was asked for.
pub(crate) fn run(arguments: &FindArguments) -> Result<(), Failure> {
    let found = runtime::multi_threaded()?.block_on(find(arguments))?;
    files::print(match arguments.json {
        true => {
            let found = serde_json::json!({
                "services": found.services,
                "truncated": found.truncated,
            });
            format!("{found}\n")
        }
        false => as_text(&found),
    })
}

/// What a registry has.
#[derive(Debug, Default)]
struct Found {
    services: Vec<BusinessService>,
    /// Whether the registry knows more.
    truncated: bool,
}

async fn find(arguments: &FindArguments) -> Result<Found, Failure> {
    let registry = arguments.registry.as_str();
    let qualifiers = match arguments.approximate {
        true => vec!["approximateMatch".to_owned()],
        false => Vec::new(),
    };
    let asked = Request::FindService(Find {
        names: vec![Text::new(&arguments.service)],
        qualifiers,
        ..Find::default()
    });
    let Answer::List(list) = ask(registry, &asked).await? else {
        return Err(other(registry));
    };
    let truncated = list.truncated || list.infos.len() > MOST;
    let keys = list.infos.into_iter().map(|info| info.key);
    let keys: Vec<String> = keys.take(MOST).collect();
    let mut services = Vec::with_capacity(keys.len());
    for keys in keys.chunks(AT_ONCE) {
        match ask(registry, &Request::ServiceDetail(keys.to_vec())).await? {
            Answer::ServiceDetail(found) => services.extend(found),
            _ => return Err(other(registry)),
        }
    }
    Ok(Found {
        services,
        truncated,
    })
}

fn other(registry: &str) -> Failure {
    Failure::new(format_args!(
        "{registry}: the answer is one to another request"
    ))
}

async fn ask(registry: &str, request: &Request) -> Result<Answer, Failure> {
    let failed = |what: &dyn std::fmt::Display| Failure::new(format_args!("{registry}: {what}"));
    let message = around(SoapVersion::V11, &uddi::write_request(request)).into_bytes();
    let answer = post_soap(registry, message, PATIENCE, LARGEST).await;
    let answer = answer.map_err(|error| failed(&error))?;
    let status = Unfetched::Status(answer.status);
    let has_failed = answer.status != StatusCode::OK;
    let envelope = Envelope::parse(answer.content, &Limits::default(), &mut Buffers::default());
    let envelope = match envelope {
        Ok(envelope) => envelope,
        Err(_) if has_failed => return Err(failed(&status)),
        Err(error) => return Err(failed(&error)),
    };
    if let Some(fault) = envelope.body().child(SOAP11, "Fault") {
        return Err(failed(&OneLine(&said_by(fault))));
    }
    if has_failed {
        return Err(failed(&status));
    }
    let answer = uddi::read_answer(envelope.body());
    answer.map_err(|refusal| {
        let what = format!("the answer is not understood: {refusal}");
        failed(&what)
    })
}

/// What a fault says: the code of UDDI with its text, or the reason where it has no report.
fn said_by(fault: Element<'_>) -> String {
    let refusal = fault.child("", "detail").and_then(uddi::read_refusal);
    if let Some((code, text)) = refusal {
        return format!("it refused with {code}: {}", text.trim());
    }
    let reason = fault.child("", "faultstring");
    let reason = reason.map(|reason| reason.text().trim().to_owned());
    format!("it answered with a fault: {}", reason.unwrap_or_default())
}

fn as_text(found: &Found) -> String {
    let mut table = Table::new([
        ("service", Align::Left),
        ("key", Align::Left),
        ("access point", Align::Left),
        ("WSDL", Align::Left),
        ("policy", Align::Left),
    ]);
    for service in &found.services {
        let name = service.names.first().map(|name| name.text.clone());
        let name = name.unwrap_or_default();
        let policy = service.categories.iter();
        let policy = policy.filter(|it| it.t_model_key == REMOTE_POLICY);
        let of_service = policy.map(|it| it.key_value.clone()).next();
        if service.bindings.is_empty() {
            table.row([name.clone(), service.service_key.clone(), "-".to_owned()]);
        }
        for binding in &service.bindings {
            let policy = policy_of(binding).or_else(|| of_service.clone());
            table.row([
                name.clone(),
                service.service_key.clone(),
                binding.access_point.clone(),
                wsdl_of(binding).unwrap_or_else(|| "-".to_owned()),
                policy.unwrap_or_else(|| "-".to_owned()),
            ]);
        }
    }
    let mut said = table.to_string();
    if found.truncated {
        said.push_str("there are more: ask for a narrower name\n");
    }
    said
}

fn wsdl_of(binding: &BindingTemplate) -> Option<String> {
    let mut instances = binding.t_models.iter();
    let soap = instances.find(|it| it.t_model_key == PROTOCOL_SOAP)?;
    soap.overview_url.clone()
}

fn policy_of(binding: &BindingTemplate) -> Option<String> {
    let mut categories = binding.categories.iter();
    let policy = categories.find(|it| it.t_model_key == REMOTE_POLICY)?;
    Some(policy.key_value.clone())
}

#[cfg(test)]
mod tests {
    use soapstone_registry::{KeyedReference, TModelInstance};

    use super::*;

    #[test]
    fn services_are_shown_with_what_is_known_of_their_bindings() {
        let binding = BindingTemplate {
            access_point: "http://10.0.0.5/books".to_owned(),
            t_models: vec![TModelInstance {
                t_model_key: PROTOCOL_SOAP.to_owned(),
                overview_url: Some("http://10.0.0.5/books?wsdl".to_owned()),
                ..TModelInstance::default()
            }],
            categories: vec![KeyedReference::new(REMOTE_POLICY, "http://10.0.0.5/policy")],
            ..BindingTemplate::default()
        };
        let service = |name: &str, bindings: Vec<BindingTemplate>| BusinessService {
            service_key: "uddi:s".to_owned(),
            names: vec![Text::new(name)],
            bindings,
            ..BusinessService::default()
        };
        let found = Found {
            services: vec![
                service("Books", vec![binding]),
                // Whoever publishes chooses names: none ends a line.
                service("A\nB", Vec::new()),
            ],
            truncated: true,
        };
        let expected = "\
service  key     access point           WSDL                        policy
Books    uddi:s  http://10.0.0.5/books  http://10.0.0.5/books?wsdl  http://10.0.0.5/policy
A\\nB     uddi:s  -
there are more: ask for a narrower name
";
        assert_eq!(as_text(&found), expected);
    }
}
