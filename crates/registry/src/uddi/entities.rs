//! The data structures of UDDI, read and written (UDDI 3.0.2, section 3).
//!
//! The rule kept here: what is written is read back the same.

use soapstone_xml::Element;

use super::fields::{Fields, simple};
use super::output::Output;
use crate::model::{
    BindingTemplate, BusinessEntity, BusinessService, KeyedReference, TModel, TModelInstance, Text,
};
use crate::refusal::Refusal;

/// Reads each of some elements.
pub(super) fn each<T>(
    elements: Vec<Element<'_>>,
    read: impl Fn(Element<'_>) -> Result<T, Refusal>,
) -> Result<Vec<T>, Refusal> {
    elements.into_iter().map(read).collect()
}

pub(super) fn read_business(element: Element<'_>) -> Result<BusinessEntity, Refusal> {
    let mut fields = Fields::of(element);
    let business = BusinessEntity {
        business_key: fields.word("businessKey"),
        names: fields.texts("name")?,
        descriptions: fields.texts("description")?,
        services: each(
            fields.listed("businessServices", "businessService")?,
            read_service,
        )?,
        categories: read_categories(&mut fields)?,
    };
    fields.finish()?;
    Ok(business)
}

pub(super) fn read_service(element: Element<'_>) -> Result<BusinessService, Refusal> {
    let mut fields = Fields::of(element);
    let service = BusinessService {
        service_key: fields.word("serviceKey"),
        business_key: fields.word("businessKey"),
        names: fields.texts("name")?,
        descriptions: fields.texts("description")?,
        bindings: each(
            fields.listed("bindingTemplates", "bindingTemplate")?,
            read_binding,
        )?,
        categories: read_categories(&mut fields)?,
    };
    fields.finish()?;
    Ok(service)
}

pub(super) fn read_binding(element: Element<'_>) -> Result<BindingTemplate, Refusal> {
    let mut fields = Fields::of(element);
    let part = "accessPoint";
    let point = fields.one(part)?.ok_or(Refusal::Missing { part })?;
    let mut of_point = Fields::of(point);
    let use_type = of_point.word("useType");
    of_point.finish()?;
    let binding = BindingTemplate {
        binding_key: fields.word("bindingKey"),
        service_key: fields.word("serviceKey"),
        descriptions: fields.texts("description")?,
        access_point: simple(point, part)?,
        use_type,
        t_models: each(
            fields.listed("tModelInstanceDetails", "tModelInstanceInfo")?,
            read_instance,
        )?,
        categories: read_categories(&mut fields)?,
    };
    fields.finish()?;
    Ok(binding)
}

fn read_instance(element: Element<'_>) -> Result<TModelInstance, Refusal> {
    let mut fields = Fields::of(element);
    let mut instance = TModelInstance {
        t_model_key: fields.word("tModelKey"),
        descriptions: fields.texts("description")?,
        ..TModelInstance::default()
    };
    if let Some(details) = fields.one("instanceDetails")? {
        let mut details = Fields::of(details);
        if let Some(document) = details.one("overviewDoc")? {
            instance.overview_url = read_overview(document)?;
        }
        instance.parameters = details.strings("instanceParms")?.into_iter().next();
        details.finish()?;
    }
    fields.finish()?;
    Ok(instance)
}

fn read_overview(document: Element<'_>) -> Result<Option<String>, Refusal> {
    let mut fields = Fields::of(document);
    let part = "overviewURL";
    let url = fields.one(part)?;
    fields.finish()?;
    let Some(url) = url else {
        return Ok(None);
    };
    let mut of_url = Fields::of(url);
    // `text`, `wsdlInterface` and the like: it says what is there, and the URL is kept without it.
    of_url.attribute("useType");
    of_url.finish()?;
    simple(url, part).map(Some)
}

pub(super) fn read_t_model(element: Element<'_>) -> Result<TModel, Refusal> {
    let mut fields = Fields::of(element);
    let mut names = fields.texts("name")?.into_iter();
    let (Some(name), None) = (names.next(), names.next()) else {
        return Err(Refusal::Missing { part: "name" });
    };
    // What is deleted is gone here.
    let deleted = fields.word("deleted");
    if !matches!(deleted.as_str(), "" | "false" | "0") {
        let found = "a deleted tModel".to_owned();
        return Err(Refusal::Unsupported { found });
    }
    let documents = each(fields.all("overviewDoc"), read_overview)?;
    let model = TModel {
        t_model_key: fields.word("tModelKey"),
        name,
        descriptions: fields.texts("description")?,
        overview_urls: documents.into_iter().flatten().collect(),
        categories: read_categories(&mut fields)?,
    };
    fields.finish()?;
    Ok(model)
}

pub(super) fn read_categories(fields: &mut Fields<'_>) -> Result<Vec<KeyedReference>, Refusal> {
    each(fields.listed("categoryBag", "keyedReference")?, |element| {
        let mut fields = Fields::of(element);
        let reference = KeyedReference {
            t_model_key: fields.word("tModelKey"),
            key_name: fields.word("keyName"),
            key_value: fields.word("keyValue"),
        };
        fields.finish()?;
        Ok(reference)
    })
}

pub(super) fn write_texts(output: &mut Output, name: &str, texts: &[Text]) {
    for text in texts {
        let lang = text.lang.as_deref().map(|lang| ("xml:lang", lang));
        output.leaf(name, lang.as_slice(), &text.text);
    }
}

pub(super) fn write_categories(output: &mut Output, categories: &[KeyedReference]) {
    if categories.is_empty() {
        return;
    }
    output.open("categoryBag", &[]);
    for it in categories {
        let attributes = [
            ("tModelKey", it.t_model_key.as_str()),
            ("keyName", &it.key_name),
            ("keyValue", &it.key_value),
        ];
        output.leaf("keyedReference", &attributes, "");
    }
    output.close("categoryBag");
}

pub(super) fn write_business(output: &mut Output, business: &BusinessEntity) {
    output.open(
        "businessEntity",
        &[("businessKey", business.business_key.as_str())],
    );
    write_texts(output, "name", &business.names);
    write_texts(output, "description", &business.descriptions);
    if !business.services.is_empty() {
        output.open("businessServices", &[]);
        for service in &business.services {
            write_service(output, service);
        }
        output.close("businessServices");
    }
    write_categories(output, &business.categories);
    output.close("businessEntity");
}

pub(super) fn write_service(output: &mut Output, service: &BusinessService) {
    let attributes = [
        ("serviceKey", service.service_key.as_str()),
        ("businessKey", &service.business_key),
    ];
    output.open("businessService", &attributes);
    write_texts(output, "name", &service.names);
    write_texts(output, "description", &service.descriptions);
    if !service.bindings.is_empty() {
        output.open("bindingTemplates", &[]);
        for binding in &service.bindings {
            write_binding(output, binding);
        }
        output.close("bindingTemplates");
    }
    write_categories(output, &service.categories);
    output.close("businessService");
}

pub(super) fn write_binding(output: &mut Output, binding: &BindingTemplate) {
    let attributes = [
        ("bindingKey", binding.binding_key.as_str()),
        ("serviceKey", &binding.service_key),
    ];
    output.open("bindingTemplate", &attributes);
    write_texts(output, "description", &binding.descriptions);
    let use_type = (!binding.use_type.is_empty()).then_some(("useType", binding.use_type.as_str()));
    output.leaf("accessPoint", use_type.as_slice(), &binding.access_point);
    if !binding.t_models.is_empty() {
        output.open("tModelInstanceDetails", &[]);
        for instance in &binding.t_models {
            write_instance(output, instance);
        }
        output.close("tModelInstanceDetails");
    }
    write_categories(output, &binding.categories);
    output.close("bindingTemplate");
}

fn write_instance(output: &mut Output, instance: &TModelInstance) {
    output.open(
        "tModelInstanceInfo",
        &[("tModelKey", instance.t_model_key.as_str())],
    );
    write_texts(output, "description", &instance.descriptions);
    if instance.overview_url.is_some() || instance.parameters.is_some() {
        output.open("instanceDetails", &[]);
        if let Some(url) = &instance.overview_url {
            write_overview(output, url);
        }
        if let Some(parameters) = &instance.parameters {
            output.leaf("instanceParms", &[], parameters);
        }
        output.close("instanceDetails");
    }
    output.close("tModelInstanceInfo");
}

fn write_overview(output: &mut Output, url: &str) {
    output.open("overviewDoc", &[]);
    output.leaf("overviewURL", &[], url);
    output.close("overviewDoc");
}

pub(super) fn write_t_model(output: &mut Output, model: &TModel) {
    output.open("tModel", &[("tModelKey", model.t_model_key.as_str())]);
    write_texts(output, "name", std::slice::from_ref(&model.name));
    write_texts(output, "description", &model.descriptions);
    for url in &model.overview_urls {
        write_overview(output, url);
    }
    write_categories(output, &model.categories);
    output.close("tModel");
}
