//! Answers, read and written (UDDI 3.0.2, sections 5.1 and 5.2).
//!
//! The rule kept here: what another registry adds to a list in short is passed over, and nothing of
//! the entries that are asked for.

use soapstone_xml::Element;

use super::calls::read_logged;
use super::entities::{
    each, read_binding, read_business, read_service, read_t_model, write_binding, write_business,
    write_service, write_t_model, write_texts,
};
use super::fields::Fields;
use super::figures::{read_figures, read_host, write_figures, write_host};
use super::output::Output;
use crate::answer::{Answer, Info, List, Provider, Providers, State};
use crate::names::{OWN, UDDI};
use crate::refusal::Refusal;
use crate::registry::{EntryKind, Owner};

pub(super) fn write(answer: &Answer, output: &mut Output) {
    match answer {
        Answer::List(list) => write_list(list, output),
        Answer::BusinessDetail(it) => write_each("businessDetail", it, write_business, output),
        Answer::ServiceDetail(it) => write_each("serviceDetail", it, write_service, output),
        Answer::BindingDetail(it) => write_each("bindingDetail", it, write_binding, output),
        Answer::TModelDetail(it) => write_each("tModelDetail", it, write_t_model, output),
        Answer::AuthToken(token) => {
            output.root(UDDI, "authToken", &[]);
            output.leaf("authInfo", &[], token);
            output.close("authToken");
        }
        Answer::Logged(logged) => {
            let (calls, unknown) = (logged.calls.to_string(), logged.unknown.to_string());
            output.root(OWN, "logged", &[("calls", &calls), ("unknown", &unknown)]);
            output.close("logged");
        }
        // Its Body is empty, as the binding of the standard has it.
        Answer::Done => {}
        Answer::Providers(providers) => {
            output.root(OWN, "providers", &[truncation(providers.truncated)]);
            let found = providers.found.iter();
            found.for_each(|it| write_provider(output, it));
            output.close("providers");
        }
    }
}

fn write_each<T>(name: &str, items: &[T], write: fn(&mut Output, &T), output: &mut Output) {
    output.root(UDDI, name, &[]);
    items.iter().for_each(|item| write(output, item));
    output.close(name);
}

/// The names of a list, of what it holds, of one of these, and of its key.
fn list_names(kind: EntryKind) -> [&'static str; 4] {
    match kind {
        EntryKind::Service => ["serviceList", "serviceInfos", "serviceInfo", "serviceKey"],
        EntryKind::TModel => ["tModelList", "tModelInfos", "tModelInfo", "tModelKey"],
        _ => [
            "businessList",
            "businessInfos",
            "businessInfo",
            "businessKey",
        ],
    }
}

fn write_list(list: &List, output: &mut Output) {
    let [root, infos, ..] = list_names(list.kind);
    output.root(UDDI, root, &[truncation(list.truncated)]);
    output.open(infos, &[]);
    for info in &list.infos {
        write_info(list.kind, info, output);
    }
    output.close(infos);
    output.close(root);
}

fn truncation(truncated: bool) -> (&'static str, &'static str) {
    match truncated {
        true => ("truncated", "true"),
        false => ("truncated", "false"),
    }
}

pub(super) fn write_info(kind: EntryKind, info: &Info, output: &mut Output) {
    let [_, _, name, key] = list_names(kind);
    let business = info.business_key.as_deref().map(|it| ("businessKey", it));
    let attributes: Vec<_> = [(key, info.key.as_str())]
        .into_iter()
        .chain(business)
        .collect();
    output.open(name, &attributes);
    write_texts(output, "name", &info.names);
    if !info.services.is_empty() {
        output.open("serviceInfos", &[]);
        for service in &info.services {
            write_info(EntryKind::Service, service, output);
        }
        output.close("serviceInfos");
    }
    output.close(name);
}

pub(super) fn write_provider(output: &mut Output, provider: &Provider) {
    let age = provider.age.map(|age| age.to_string());
    let taken = provider.taken.map(|taken| taken.to_string());
    let attributes = [
        ("bindingKey", Some(provider.binding_key.as_str())),
        ("serviceKey", Some(&provider.service_key)),
        ("business", Some(&provider.business)),
        ("service", Some(&provider.service)),
        ("portType", provider.port_type.as_deref()),
        ("accessPoint", Some(&provider.access_point)),
        ("wsdl", provider.wsdl.as_deref()),
        ("policy", provider.policy.as_deref()),
        ("owner", Some(provider.owner.subject.as_str())),
        ("issuer", Some(provider.owner.issuer.as_str())),
        ("state", Some(provider.state.name())),
        ("age", age.as_deref()),
        ("taken", taken.as_deref()),
    ];
    let attributes = attributes.into_iter();
    let attributes = attributes.filter_map(|(name, value)| Some((name, value?)));
    output.open("provider", &attributes.collect::<Vec<_>>());
    for agreement in &provider.agreements {
        output.leaf("agreement", &[], agreement);
    }
    if let Some(host) = &provider.host {
        write_host(output, host);
    }
    if let Some(figures) = &provider.figures {
        write_figures(output, figures);
    }
    output.close("provider");
}

pub(super) fn read(element: Element<'_>) -> Result<Answer, Refusal> {
    let mut fields = Fields::of(element);
    // Answers say whether they are whole; whoever asks for entries by key gets all of them.
    let truncated = matches!(fields.word("truncated").as_str(), "true" | "1");
    let answer = match (element.namespace(), element.local()) {
        (UDDI, "businessList") => read_list(EntryKind::Business, truncated, &mut fields)?,
        (UDDI, "serviceList") => read_list(EntryKind::Service, truncated, &mut fields)?,
        (UDDI, "tModelList") => read_list(EntryKind::TModel, truncated, &mut fields)?,
        (UDDI, "businessDetail") => {
            Answer::BusinessDetail(each(fields.all("businessEntity"), read_business)?)
        }
        (UDDI, "serviceDetail") => {
            Answer::ServiceDetail(each(fields.all("businessService"), read_service)?)
        }
        (UDDI, "bindingDetail") => {
            fields.all("listDescription");
            Answer::BindingDetail(each(fields.all("bindingTemplate"), read_binding)?)
        }
        (UDDI, "tModelDetail") => Answer::TModelDetail(each(fields.all("tModel"), read_t_model)?),
        (UDDI, "authToken") => {
            let tokens = fields.strings("authInfo")?;
            Answer::AuthToken(tokens.into_iter().next().unwrap_or_default())
        }
        (UDDI, "dispositionReport") => {
            fields.all("result");
            Answer::Done
        }
        (OWN, "providers") => Answer::Providers(Providers {
            found: each(fields.all("provider"), read_provider)?,
            truncated,
        }),
        (OWN, "logged") => Answer::Logged(read_logged(&mut fields)?),
        (namespace, local) => {
            let found = format!("{{{namespace}}}{local}");
            let found = found.chars().take(200).collect();
            return Err(Refusal::Unknown { found });
        }
    };
    fields.finish()?;
    Ok(answer)
}

fn read_list(kind: EntryKind, truncated: bool, fields: &mut Fields<'_>) -> Result<Answer, Refusal> {
    let [_, infos, name, _] = list_names(kind);
    fields.all("listDescription");
    let infos = each(fields.listed(infos, name)?, |it| read_info(kind, it))?;
    Ok(Answer::List(List {
        kind,
        infos,
        truncated,
    }))
}

fn read_info(kind: EntryKind, element: Element<'_>) -> Result<Info, Refusal> {
    let [_, _, _, key] = list_names(kind);
    let mut fields = Fields::of(element);
    let services = fields.listed("serviceInfos", "serviceInfo")?;
    Ok(Info {
        key: fields.word(key),
        business_key: fields.attribute("businessKey"),
        names: fields.texts("name")?,
        services: each(services, |it| read_info(EntryKind::Service, it))?,
    })
}

fn read_provider(element: Element<'_>) -> Result<Provider, Refusal> {
    let mut fields = Fields::of(element);
    let state = fields.word("state");
    let state = State::named(&state).ok_or(Refusal::Value {
        part: "state",
        expected: "active, inactive, withdrawn or unmonitored",
    })?;
    let provider = Provider {
        binding_key: fields.word("bindingKey"),
        service_key: fields.word("serviceKey"),
        business: fields.word("business"),
        service: fields.word("service"),
        port_type: fields.attribute("portType"),
        access_point: fields.word("accessPoint"),
        wsdl: fields.attribute("wsdl"),
        policy: fields.attribute("policy"),
        agreements: fields.strings("agreement")?,
        owner: Owner::new(fields.word("owner"), fields.word("issuer")),
        state,
        age: fields.number("age")?,
        taken: fields.number("taken")?,
        host: fields.one("host")?.map(read_host).transpose()?,
        figures: fields.one("binding")?.map(read_figures).transpose()?,
    };
    fields.finish()?;
    Ok(provider)
}
