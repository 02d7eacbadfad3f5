//! Requests, read and written (UDDI 3.0.2, sections 5.1 and 5.2).
//!
//! The rule kept here: `authInfo` is read and means nothing. The signature of a message authorizes
//! it.

use soapstone_xml::Element;

use super::calls;
use super::entities::{
    each, read_binding, read_business, read_categories, read_service, read_t_model, write_binding,
    write_business, write_categories, write_service, write_t_model, write_texts,
};
use super::fields::Fields;
use super::figures;
use super::output::Output;
use crate::names::{OWN, UDDI};
use crate::refusal::Refusal;
use crate::request::{Find, Keys, ProviderQuery, Request};

pub(super) fn read(element: Element<'_>) -> Result<Request, Refusal> {
    let mut fields = Fields::of(element);
    fields.all("authInfo");
    let request = match (element.namespace(), element.local()) {
        (UDDI, "find_business") => Request::FindBusiness(find(&mut fields)?),
        (UDDI, "find_service") => Request::FindService(find(&mut fields)?),
        (UDDI, "find_binding") => Request::FindBinding(find(&mut fields)?),
        (UDDI, "find_tModel") => Request::FindTModel(find(&mut fields)?),
        (UDDI, "get_businessDetail") => Request::BusinessDetail(fields.strings("businessKey")?),
        (UDDI, "get_serviceDetail") => Request::ServiceDetail(fields.strings("serviceKey")?),
        (UDDI, "get_bindingDetail") => Request::BindingDetail(fields.strings("bindingKey")?),
        (UDDI, "get_tModelDetail") => Request::TModelDetail(fields.strings("tModelKey")?),
        (UDDI, "get_authToken") => {
            fields.attribute("userID");
            fields.attribute("cred");
            Request::AuthToken
        }
        (UDDI, "discard_authToken") => Request::DiscardAuthToken,
        (UDDI, "save_business") => {
            Request::SaveBusiness(each(fields.all("businessEntity"), read_business)?)
        }
        (UDDI, "save_service") => {
            Request::SaveService(each(fields.all("businessService"), read_service)?)
        }
        (UDDI, "save_binding") => {
            Request::SaveBinding(each(fields.all("bindingTemplate"), read_binding)?)
        }
        (UDDI, "save_tModel") => Request::SaveTModel(each(fields.all("tModel"), read_t_model)?),
        (UDDI, "delete_business") => Request::DeleteBusiness(fields.strings("businessKey")?),
        (UDDI, "delete_service") => Request::DeleteService(fields.strings("serviceKey")?),
        (UDDI, "delete_binding") => Request::DeleteBinding(fields.strings("bindingKey")?),
        (UDDI, "delete_tModel") => Request::DeleteTModel(fields.strings("tModelKey")?),
        (OWN, "find_providers") => Request::FindProviders(ProviderQuery {
            service: fields.attribute("service"),
            port_type: fields.attribute("portType"),
            owners: fields.strings("owner")?,
            operations: matches!(fields.word("operations").as_str(), "true" | "1"),
        }),
        (OWN, "withdraw") => Request::Withdraw(fields.strings("bindingKey")?),
        (OWN, "report") => return figures::read_report(fields).map(Request::Report),
        (OWN, "log_calls") => return calls::read_calls(fields).map(Request::LogCalls),
        (namespace, local) => {
            let found = format!("{{{namespace}}}{local}");
            let found = found.chars().take(200).collect();
            return Err(Refusal::Unknown { found });
        }
    };
    fields.finish()?;
    Ok(request)
}

fn find(fields: &mut Fields<'_>) -> Result<Find, Refusal> {
    let qualifiers = fields.listed("findQualifiers", "findQualifier")?;
    let models = fields.listed("tModelBag", "tModelKey")?;
    // What follows the first entries is asked for with a larger `maxRows`.
    fields.attribute("listHead");
    Ok(Find {
        business_key: fields
            .attribute("businessKey")
            .filter(|key| !key.is_empty()),
        service_key: fields.attribute("serviceKey").filter(|key| !key.is_empty()),
        names: fields.texts("name")?,
        categories: read_categories(fields)?,
        t_models: each(models, |it| super::fields::simple(it, "tModelKey"))?,
        qualifiers: each(qualifiers, |it| super::fields::simple(it, "findQualifier"))?,
        max_rows: fields.number("maxRows")?,
    })
}

pub(super) fn write(request: &Request, output: &mut Output) {
    let name = request.name();
    match request {
        Request::FindBusiness(it)
        | Request::FindService(it)
        | Request::FindBinding(it)
        | Request::FindTModel(it) => write_find(name, it, output),
        Request::BusinessDetail(keys) | Request::DeleteBusiness(keys) => {
            write_keys(UDDI, name, "businessKey", keys, output);
        }
        Request::ServiceDetail(keys) | Request::DeleteService(keys) => {
            write_keys(UDDI, name, "serviceKey", keys, output);
        }
        Request::BindingDetail(keys) | Request::DeleteBinding(keys) => {
            write_keys(UDDI, name, "bindingKey", keys, output);
        }
        Request::TModelDetail(keys) | Request::DeleteTModel(keys) => {
            write_keys(UDDI, name, "tModelKey", keys, output);
        }
        Request::Withdraw(keys) => write_keys(OWN, name, "bindingKey", keys, output),
        Request::AuthToken => {
            output.root(UDDI, name, &[("userID", ""), ("cred", "")]);
            output.close(name);
        }
        Request::DiscardAuthToken => {
            output.root(UDDI, name, &[]);
            output.close(name);
        }
        Request::SaveBusiness(it) => write_each(name, it, write_business, output),
        Request::SaveService(it) => write_each(name, it, write_service, output),
        Request::SaveBinding(it) => write_each(name, it, write_binding, output),
        Request::SaveTModel(it) => write_each(name, it, write_t_model, output),
        Request::FindProviders(query) => {
            let service = query.service.as_deref().map(|it| ("service", it));
            let port_type = query.port_type.as_deref().map(|it| ("portType", it));
            let operations = query.operations.then_some(("operations", "true"));
            let attributes = service.into_iter().chain(port_type).chain(operations);
            let attributes: Vec<_> = attributes.collect();
            output.root(OWN, name, &attributes);
            query
                .owners
                .iter()
                .for_each(|it| output.leaf("owner", &[], it));
            output.close(name);
        }
        Request::LogCalls(told) => {
            output.root(OWN, name, &[("source", &told.source)]);
            told.calls
                .iter()
                .for_each(|it| calls::write_call(output, it));
            output.close(name);
        }
        Request::Report(report) => {
            let (taken, period) = (report.taken.to_string(), report.period.to_string());
            output.root(OWN, name, &[("taken", &taken), ("period", &period)]);
            figures::write_report(output, report);
            output.close(name);
        }
    }
}

fn write_each<T>(name: &str, items: &[T], write: fn(&mut Output, &T), output: &mut Output) {
    output.root(UDDI, name, &[]);
    items.iter().for_each(|item| write(output, item));
    output.close(name);
}

fn write_keys(namespace: &str, name: &str, key: &str, keys: &Keys, output: &mut Output) {
    output.root(namespace, name, &[]);
    keys.iter().for_each(|it| output.leaf(key, &[], it));
    output.close(name);
}

fn write_find(name: &str, find: &Find, output: &mut Output) {
    let most = find.max_rows.map(|most| most.to_string());
    let attributes = [
        ("businessKey", find.business_key.as_deref()),
        ("serviceKey", find.service_key.as_deref()),
        ("maxRows", most.as_deref()),
    ];
    let attributes = attributes.into_iter();
    let attributes = attributes.filter_map(|(name, value)| Some((name, value?)));
    output.root(UDDI, name, &attributes.collect::<Vec<_>>());
    write_list(output, "findQualifiers", "findQualifier", &find.qualifiers);
    write_texts(output, "name", &find.names);
    write_categories(output, &find.categories);
    write_list(output, "tModelBag", "tModelKey", &find.t_models);
    output.close(name);
}

fn write_list(output: &mut Output, list: &str, name: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    output.open(list, &[]);
    items.iter().for_each(|item| output.leaf(name, &[], item));
    output.close(list);
}
