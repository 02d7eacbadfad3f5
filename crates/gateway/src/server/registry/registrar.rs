//! Registers the routes of a gateway, says how they do, and withdraws them in the end.
//!
//! The rule kept here: what is in the registry is what the configuration in use provides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use jiff::Timestamp;
use soapstone::crypto::hexadecimal::Digits;
use soapstone::crypto::{DigestAlgorithm, digest};
use soapstone_registry::names::{
    AGREEMENT, END_POINT, PROTOCOL_SOAP, REMOTE_POLICY, XML_LOCAL_NAME, XML_NAMESPACE,
};
use soapstone_registry::{
    BindingTemplate, BusinessEntity, BusinessService, KeyedReference, Report, Request,
    TModelInstance, Text,
};

use super::client::{AskError, RegistryClient};
use super::figures::{figures, fit, operation};
use super::host::HostFigures;
use crate::config::registry::ProvidedSpec;
use crate::observe::metrics::{CallSample, Operations};
use crate::route::Route;
use crate::route::serving::Serving;
use crate::server::state::State;

/// Registers and reports for as long as the gateway serves.
pub(in crate::server) async fn register(state: &State, client: &Arc<RegistryClient>) {
    let Some(business) = &client.business else {
        return;
    };
    let mut ticks = tokio::time::interval(client.period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut registrar = Registrar {
        client,
        saved: None,
        former: Vec::new(),
        samples: BTreeMap::new(),
        of_operations: BTreeMap::new(),
        host: HostFigures::begin(),
    };
    let mut was_away = false;
    loop {
        ticks.tick().await;
        let turn = client.saying.lock().await;
        if state.is_draining() {
            drop(turn);
            return withdraw(state, client).await;
        }
        match registrar.say(state, business).await {
            Ok(()) if was_away => {
                tracing::info!("the registry answers again");
                was_away = false;
            }
            Ok(()) => {}
            Err(error) if !was_away => {
                tracing::warn!(%error, "the registry does not know how this gateway does");
                was_away = true;
            }
            Err(_) => {}
        }
    }
}

/// Says that the gateway takes no calls from now on.
pub(in crate::server) async fn withdraw(state: &State, client: &Arc<RegistryClient>) {
    let Some(business) = &client.business else {
        return;
    };
    let _turn = client.saying.lock().await;
    let entity = entity(business, &state.current.serving());
    let services = entity.iter().flat_map(|entity| &entity.services);
    let bindings = services.flat_map(|service| &service.bindings);
    let keys: Vec<String> = bindings.map(|it| it.binding_key.clone()).collect();
    if keys.is_empty() {
        return;
    }
    let mut withdrawn = client.ask(&Request::Withdraw(keys.clone())).await;
    if matches!(withdrawn, Err(AskError::Refused { .. })) {
        // One that the registry does not know leaves no other one in it.
        for key in keys {
            withdrawn = client
                .ask(&Request::Withdraw(vec![key]))
                .await
                .or(withdrawn);
        }
    }
    match withdrawn {
        Ok(_) => tracing::info!("withdrawn from the registry"),
        Err(error) => tracing::warn!(%error, "not withdrawn from the registry"),
    }
}

struct Registrar<'c> {
    client: &'c Arc<RegistryClient>,
    /// What the registry has of what the configuration in use provides.
    saved: Option<BusinessEntity>,
    /// The keys of businesses that are still to be deleted.
    former: Vec<String>,
    /// What each route had counted at the last report.
    samples: BTreeMap<String, CallSample>,
    /// What each operation of a route had counted then, by the keys of both.
    of_operations: BTreeMap<String, BTreeMap<Arc<str>, CallSample>>,
    host: HostFigures,
}

impl Registrar<'_> {
    async fn say(&mut self, state: &State, business: &str) -> Result<(), AskError> {
        let serving = state.current.serving();
        let wanted = entity(business, &serving);
        let saved = match wanted == self.saved {
            true => Ok(()),
            false => self.save(wanted).await,
        };
        // What cannot be saved keeps nothing else from being reported, or deleted.
        let reported = self.report(state, &serving).await;
        let is_known = reported.is_ok() && self.saved.is_some();
        self.client.is_known.store(is_known, Ordering::Relaxed);
        saved.and(reported).and(self.delete_former().await)
    }

    /// Saves what is wanted, before what was there before is deleted: at no moment the registry
    /// knows neither.
    async fn save(&mut self, wanted: Option<BusinessEntity>) -> Result<(), AskError> {
        let mut refused = Ok(());
        let saved = match wanted {
            None => None,
            Some(entity) => {
                let whole = Request::SaveBusiness(vec![entity.clone()]);
                match self.client.ask(&whole).await {
                    Ok(_) => Some(entity),
                    Err(AskError::Refused { .. }) => {
                        let (saved, why) = self.save_one_by_one(entity).await?;
                        refused = why;
                        Some(saved)
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        if let Some(key) = saved.as_ref().map(|it| &it.business_key) {
            self.former.retain(|former| former != key);
        }
        if let Some(former) = std::mem::replace(&mut self.saved, saved)
            && self.saved.as_ref().map(|it| &it.business_key) != Some(&former.business_key)
        {
            self.former.push(former.business_key);
        }
        refused
    }

    /// Saves the services that the registry takes, and says why it refuses others.
    async fn save_one_by_one(
        &self,
        mut entity: BusinessEntity,
    ) -> Result<(BusinessEntity, Result<(), AskError>), AskError> {
        let wanted = std::mem::take(&mut entity.services);
        let former = self.saved.as_ref();
        let former = former.filter(|it| it.business_key == entity.business_key);
        if former.is_none() {
            let empty = Request::SaveBusiness(vec![entity.clone()]);
            self.client.ask(&empty).await?;
        }
        let mut refused = Ok(());
        for service in wanted {
            match self
                .client
                .ask(&Request::SaveService(vec![service.clone()]))
                .await
            {
                Ok(_) => entity.services.push(service),
                Err(error @ AskError::Refused { .. }) => refused = refused.and(Err(error)),
                Err(error) => return Err(error),
            }
        }
        let is_saved = |key: &String| entity.services.iter().any(|it| it.service_key == *key);
        let gone = former.into_iter().flat_map(|it| &it.services);
        let gone = gone
            .map(|it| it.service_key.clone())
            .filter(|key| !is_saved(key));
        for key in gone.collect::<Vec<_>>() {
            self.delete(Request::DeleteService(vec![key])).await?;
        }
        Ok((entity, refused))
    }

    /// Deletes what is no longer provided. What cannot be deleted is tried again with the next
    /// report.
    async fn delete_former(&mut self) -> Result<(), AskError> {
        while let Some(key) = self.former.last() {
            self.delete(Request::DeleteBusiness(vec![key.clone()]))
                .await?;
            self.former.pop();
        }
        Ok(())
    }

    /// Asks for a deletion. What the registry does not know is deleted.
    async fn delete(&self, request: Request) -> Result<(), AskError> {
        match self.client.ask(&request).await {
            Err(error) if !error.is_unknown_key() => Err(error),
            _ => Ok(()),
        }
    }

    async fn report(&mut self, state: &State, serving: &Serving) -> Result<(), AskError> {
        let Some(saved) = &self.saved else {
            return Ok(());
        };
        let known = saved.services.iter().flat_map(|it| &it.bindings);
        let known: BTreeSet<&str> = known.map(|it| it.binding_key.as_str()).collect();
        let queue = state.resources.executor.workers().waiting();
        let mut bindings = Vec::new();
        for route in serving.routes.iter() {
            let Some(provided) = &route.provides else {
                continue;
            };
            let key = binding_key(&saved.business_key, provided);
            if !known.contains(key.as_str()) {
                continue;
            }
            let now = route.metrics.sample();
            let mut told = figures(&key, &now, self.samples.get(&key), queue);
            let counted = route.metrics.operations().map(Operations::all);
            let last = self.of_operations.entry(key.clone()).or_default();
            for counted in counted.into_iter().flatten() {
                let now = counted.sample();
                let name = counted.name();
                told.operations.push(operation(name, &now, last.get(name)));
                last.insert(Arc::clone(name), now);
            }
            bindings.push(told);
            self.samples.insert(key, now);
        }
        fit(&mut bindings);
        if bindings.is_empty() {
            return Ok(());
        }
        let report = Request::Report(Report {
            bindings,
            taken: Timestamp::now().as_millisecond(),
            period: u32::try_from(self.client.period.as_millis()).unwrap_or(u32::MAX),
            host: self.host.next(),
        });
        let answer = self.client.ask(&report).await;
        if answer.as_ref().is_err_and(AskError::is_unknown_key) {
            // It was deleted there, or the registry has another database: it is saved again.
            self.saved = None;
        }
        answer.map(drop)
    }
}

/// What the routes provide, as the registry has it; `None` where they provide nothing.
fn entity(business: &str, serving: &Serving) -> Option<BusinessEntity> {
    let provided = serving.routes.iter();
    let mut provided: Vec<(&Route, &ProvidedSpec)> = provided
        .filter_map(|route| Some((route, route.provides.as_ref()?)))
        .collect();
    provided.sort_by_key(|(_, it)| (&it.service, &it.access_point));
    let places = provided.iter().map(|(_, it)| it.access_point.as_str());
    // Gateways of one business have entities of their own: none takes another one's bindings out.
    let key = key_of("business", [business].into_iter().chain(places));
    let services = provided.iter().map(|(route, it)| service(&key, route, it));
    let services: Vec<BusinessService> = services.collect();
    (!services.is_empty()).then(|| BusinessEntity {
        business_key: key,
        names: vec![Text::new(business)],
        services,
        ..BusinessEntity::default()
    })
}

fn service(business: &str, route: &Route, provided: &ProvidedSpec) -> BusinessService {
    let wsdl = format!("{}?wsdl", provided.access_point);
    let policy = route.inbound.as_ref().and_then(|it| it.published.as_ref());
    let policy = policy.map(|_| KeyedReference::new(REMOTE_POLICY, &wsdl));
    let agreements = provided.agreements.iter();
    let agreements = agreements.map(|offer| KeyedReference::new(AGREEMENT, offer));
    let port_type = provided.port_type.iter().flat_map(|(namespace, local)| {
        [
            KeyedReference::new(XML_NAMESPACE, namespace),
            KeyedReference::new(XML_LOCAL_NAME, local),
        ]
    });
    let service_key = key_of(
        "service",
        [business, &provided.service, &provided.access_point],
    );
    let binding = BindingTemplate {
        binding_key: binding_key(business, provided),
        service_key: service_key.clone(),
        access_point: provided.access_point.clone(),
        use_type: END_POINT.to_owned(),
        t_models: vec![TModelInstance {
            t_model_key: PROTOCOL_SOAP.to_owned(),
            overview_url: Some(wsdl.clone()),
            ..TModelInstance::default()
        }],
        categories: policy.into_iter().chain(agreements).collect(),
        ..BindingTemplate::default()
    };
    BusinessService {
        service_key,
        business_key: business.to_owned(),
        names: vec![Text::new(&provided.service)],
        bindings: vec![binding],
        categories: port_type.collect(),
        ..BusinessService::default()
    }
}

/// The keys of the bindings of a gateway, by service and access point.
pub(super) fn binding_keys(
    business: &str,
    serving: &Serving,
) -> BTreeMap<(String, String), String> {
    let Some(entity) = entity(business, serving) else {
        return BTreeMap::new();
    };
    let provided = serving.routes.iter().filter_map(|it| it.provides.as_ref());
    let keys = provided.map(|it| {
        let named = (it.service.clone(), it.access_point.clone());
        (named, binding_key(&entity.business_key, it))
    });
    keys.collect()
}

fn binding_key(business: &str, provided: &ProvidedSpec) -> String {
    key_of(
        "binding",
        [business, &provided.service, &provided.access_point],
    )
}

/// A key that the same parts always have: a gateway that starts again finds its own entries.
fn key_of<'p>(kind: &str, parts: impl IntoIterator<Item = &'p str>) -> String {
    let mut text = String::from(kind);
    for part in parts {
        text.push('\n');
        text.push_str(part);
    }
    // SHA-256 is always to be had.
    let digest = digest(DigestAlgorithm::Sha256, text.as_bytes()).ok();
    let bytes = digest.as_ref().map_or(&[][..], AsRef::as_ref);
    let bytes = &bytes[..bytes.len().min(16)];
    format!("uddi:soapstone:{kind}:{}", Digits(bytes))
}
