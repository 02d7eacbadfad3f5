//! What the registry answers without any change.
//!
//! The rule kept here: an answer is bounded, and says so where it leaves something out.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::{Entry, EntryKind, Record, Registry, StoredReport};
use crate::answer::{Answer, Info, List, Provider, Providers, State};
use crate::ganglia::HostMetrics;
use crate::model::{
    BindingTemplate, BusinessEntity, BusinessService, KeyedReference, TModel, Text, category,
};
use crate::names::{
    AGREEMENT, PROTOCOL_SOAP, REMOTE_POLICY, SCHEME, XML_LOCAL_NAME, XML_NAMESPACE,
};
use crate::refusal::Refusal;
use crate::request::{Find, ProviderQuery, Request};
use crate::uddi::{size_of_entry, size_of_info, size_of_provider};
use crate::written_name::WrittenName;

/// Most entries of one answer.
const MOST: usize = 1_000;
/// Most keys of one request.
const MOST_KEYS: usize = 100;
/// Most owners of one query.
const MOST_OWNERS: usize = 100;
/// Largest answer, in bytes.
const LARGEST: usize = 8 << 20;
/// Most names, categories or tModels that are looked for at once.
const MOST_WANTED: usize = 20;
/// Longest pattern of a name, in characters.
const LONGEST_PATTERN: usize = 255;
/// How many periods a provider may be silent.
const PERIODS: i64 = 3;

impl Registry {
    pub(super) fn inquire(&self, request: &Request, now: Timestamp) -> Result<Answer, Refusal> {
        if let Some((kind, find)) = request.found() {
            return self.find(kind, find);
        }
        let mut room = Room(LARGEST);
        Ok(match request {
            Request::BusinessDetail(keys) => {
                Answer::BusinessDetail(all(keys, |key| self.business(key, &mut room))?)
            }
            Request::ServiceDetail(keys) => {
                Answer::ServiceDetail(all(keys, |key| self.service(key, &mut room))?)
            }
            Request::BindingDetail(keys) => {
                let binding = |key: &str| self.taken(EntryKind::Binding, key, &mut room);
                Answer::BindingDetail(
                    all(keys, binding)?
                        .into_iter()
                        .filter_map(binding_of)
                        .collect(),
                )
            }
            Request::TModelDetail(keys) => {
                let model = |key: &str| self.taken(EntryKind::TModel, key, &mut room);
                Answer::TModelDetail(
                    all(keys, model)?
                        .into_iter()
                        .filter_map(t_model_of)
                        .collect(),
                )
            }
            Request::FindProviders(query) => {
                Answer::Providers(self.providers(query, now, &mut room)?)
            }
            _ => return Err(Refusal::Unsigned),
        })
    }

    /// An entry that is answered, if there is room for it.
    fn taken(
        &self,
        kind: EntryKind,
        key: &str,
        room: &mut Room,
    ) -> Result<Option<&Entry>, Refusal> {
        let entry = self.record(kind, key).map(|record| &record.entry);
        if let Some(entry) = entry {
            room.take(size_of_entry(entry))?;
        }
        Ok(entry)
    }

    fn of_kind(&self, kind: EntryKind) -> impl Iterator<Item = &Record> {
        let from = (kind, String::new());
        let range = self.entries.range(from..);
        range
            .take_while(move |((of, _), _)| *of == kind)
            .map(|(_, record)| record)
    }

    fn plain_service(&self, key: &str) -> Option<&BusinessService> {
        match &self.record(EntryKind::Service, key)?.entry {
            Entry::Service(service) => Some(service),
            _ => None,
        }
    }

    fn binding(&self, key: &str) -> Option<&BindingTemplate> {
        match &self.record(EntryKind::Binding, key)?.entry {
            Entry::Binding(binding) => Some(binding),
            _ => None,
        }
    }

    pub(super) fn report_of(&self, binding: &str) -> Option<&StoredReport> {
        match &self.record(EntryKind::Report, binding)?.entry {
            Entry::Report(report) => Some(report),
            _ => None,
        }
    }

    /// A business with its services and their bindings.
    fn business(&self, key: &str, room: &mut Room) -> Result<Option<BusinessEntity>, Refusal> {
        let Some(Entry::Business(business)) = self.taken(EntryKind::Business, key, room)? else {
            return Ok(None);
        };
        let mut services = Vec::new();
        for key in self.parts_of(EntryKind::Service, key) {
            services.extend(self.service(key, room)?);
        }
        Ok(Some(BusinessEntity {
            services,
            ..business.clone()
        }))
    }

    /// A service with its bindings.
    fn service(&self, key: &str, room: &mut Room) -> Result<Option<BusinessService>, Refusal> {
        let Some(Entry::Service(service)) = self.taken(EntryKind::Service, key, room)? else {
            return Ok(None);
        };
        let mut bindings = Vec::new();
        for key in self.parts_of(EntryKind::Binding, key) {
            let binding = self.taken(EntryKind::Binding, key, room)?;
            bindings.extend(binding.and_then(binding_of));
        }
        Ok(Some(BusinessService {
            bindings,
            ..service.clone()
        }))
    }

    fn bindings_of(&self, service: &str) -> impl Iterator<Item = &BindingTemplate> {
        let bindings = self.parts_of(EntryKind::Binding, service);
        bindings.filter_map(|key| self.binding(key))
    }

    fn find(&self, kind: EntryKind, find: &Find) -> Result<Answer, Refusal> {
        let wanted = Wanted::of(find)?;
        let asked = find.max_rows.map_or(usize::MAX, |most| most as usize);
        let most = asked.min(MOST);
        let mut room = Room(LARGEST);
        let found = self.of_kind(kind);
        let mut found = found.filter(|record| wanted.fits(self, &record.entry));
        if kind == EntryKind::Binding {
            let mut bindings = Vec::new();
            for record in found.by_ref().take(most) {
                room.take(size_of_entry(&record.entry))?;
                bindings.extend(binding_of(&record.entry));
            }
            // Bindings are answered whole or not at all: their answer cannot say that more are
            // there.
            if asked > MOST && found.next().is_some() {
                return Err(Refusal::TooLarge);
            }
            return Ok(Answer::BindingDetail(bindings));
        }
        let mut infos = Vec::new();
        let mut truncated = false;
        for record in found {
            let Some(info) = self
                .info(&record.entry, &mut room)
                .filter(|_| infos.len() < most)
            else {
                truncated = true;
                break;
            };
            infos.push(info);
        }
        Ok(Answer::List(List {
            kind,
            infos,
            truncated,
        }))
    }

    /// An entry in short. `None` where there is no room for it.
    fn info(&self, entry: &Entry, room: &mut Room) -> Option<Info> {
        let (names, business_key) = match entry {
            Entry::Business(it) => (it.names.clone(), None),
            Entry::Service(it) => (it.names.clone(), Some(it.business_key.clone())),
            Entry::TModel(it) => (vec![it.name.clone()], None),
            Entry::Binding(_) | Entry::Report(_) => (Vec::new(), None),
        };
        let mut info = Info {
            key: entry.key().to_owned(),
            business_key,
            names,
            services: Vec::new(),
        };
        room.take(size_of_info(&info)).ok()?;
        if let Entry::Business(it) = entry {
            let keys = self.parts_of(EntryKind::Service, &it.business_key);
            for record in keys.filter_map(|key| self.record(EntryKind::Service, key)) {
                info.services.push(self.info(&record.entry, room)?);
            }
        }
        Some(info)
    }

    /// What `gmond` says of the host of an access point, and for how long the host is silent.
    fn observed_host(
        &self,
        access_point: &str,
        now: Timestamp,
    ) -> Option<(SignedDuration, &HostMetrics)> {
        let wanted = host_of(access_point);
        self.observed.values().find_map(|(at, hosts)| {
            let mut hosts = hosts.iter();
            let host = hosts.find(|host| host.address == wanted || host.name == wanted)?;
            let silent = i64::try_from(host.seconds).unwrap_or(i64::MAX);
            let since = now.duration_since(*at).as_secs();
            Some((
                SignedDuration::from_secs(silent.saturating_add(since)),
                host,
            ))
        })
    }

    fn providers(
        &self,
        query: &ProviderQuery,
        now: Timestamp,
        room: &mut Room,
    ) -> Result<Providers, Refusal> {
        if query.owners.len() > MOST_OWNERS {
            let (part, most) = ("owner", MOST_OWNERS);
            return Err(Refusal::TooMany { part, most });
        }
        let owners: Vec<WrittenName> = query.owners.iter().map(WrittenName::new).collect();
        if !owners.iter().all(WrittenName::is_name) {
            let (part, expected) = ("owner", "the distinguished name of a subject");
            return Err(Refusal::Value { part, expected });
        }
        let is_wanted =
            |record: &&Record| owners.is_empty() || owners.contains(&record.owner.subject);
        let records = self.of_kind(EntryKind::Binding).filter(is_wanted);
        let mut answer = Providers::default();
        for mut provider in records.filter_map(|record| self.provider(record, query, now)) {
            let mut size = size_of_provider(&provider);
            // Half of the answer is for providers alone: a broker needs to know all of them.
            if size > room.0.saturating_sub(LARGEST / 2) {
                provider.figures = provider.figures.map(|figures| figures.of_binding());
                size = size_of_provider(&provider);
            }
            let has_room = room.take(size).is_ok();
            if !has_room || answer.found.len() == MOST {
                answer.truncated = true;
                break;
            }
            answer.found.push(provider);
        }
        Ok(answer)
    }

    fn provider(&self, record: &Record, query: &ProviderQuery, now: Timestamp) -> Option<Provider> {
        let Entry::Binding(binding) = &record.entry else {
            return None;
        };
        let service = self.plain_service(&binding.service_key)?;
        let asked = query.service.as_ref();
        let asked = asked.filter(|wanted| service.names.iter().any(|it| it.text == **wanted));
        let name = asked.cloned().unwrap_or_else(|| first(&service.names));
        let fits = query
            .service
            .as_ref()
            .is_none_or(|wanted| match wanted.starts_with(SCHEME) {
                true => *wanted == service.service_key,
                false => service.names.iter().any(|it| it.text == *wanted),
            });
        let local = category(&service.categories, XML_LOCAL_NAME);
        let port_type = local.map(|local| {
            let namespace = category(&service.categories, XML_NAMESPACE);
            format!("{{{}}}{local}", namespace.unwrap_or_default())
        });
        let fits_type = query.port_type.as_ref().is_none_or(|wanted| {
            Some(wanted) == port_type.as_ref() || Some(wanted.as_str()) == local
        });
        if !fits || !fits_type {
            return None;
        }
        let business = self.record(EntryKind::Business, &service.business_key);
        let business = business.map(|record| match &record.entry {
            Entry::Business(it) => first(&it.names),
            _ => String::new(),
        });
        let soap = binding.t_models.iter();
        let mut soap = soap.filter(|it| it.t_model_key == PROTOCOL_SOAP);
        let policies = [&binding.categories, &service.categories];
        let mut policies = policies.iter().filter_map(|it| category(it, REMOTE_POLICY));
        let agreements = binding.categories.iter();
        let agreements = agreements.filter(|it| it.t_model_key == AGREEMENT);
        let report = self.report_of(&binding.binding_key);
        let age = report.map(|report| now.duration_since(report.received));
        let observed = match report {
            None => self.observed_host(&binding.access_point, now),
            Some(_) => None,
        };
        let of_host = observed.map(|(silent, host)| (state_of_host(silent, host), silent));
        let age = age.or(of_host.map(|(_, silent)| silent));
        Some(Provider {
            binding_key: binding.binding_key.clone(),
            service_key: binding.service_key.clone(),
            business: business.unwrap_or_default(),
            service: name,
            port_type,
            access_point: binding.access_point.clone(),
            wsdl: soap.find_map(|it| it.overview_url.clone()),
            policy: policies.next().map(str::to_owned),
            agreements: agreements.map(|it| it.key_value.clone()).collect(),
            owner: record.owner.clone(),
            state: of_host.map_or_else(|| state(report, now), |(state, _)| state),
            age: age.map(|age| u64::try_from(age.as_millis()).unwrap_or_default()),
            host: report
                .map(|report| report.host)
                .or_else(|| observed.map(|(_, host)| host.host())),
            taken: report.map(|report| report.taken.as_millisecond()),
            figures: report.map(|report| match query.operations {
                true => report.figures.clone(),
                false => report.figures.of_binding(),
            }),
        })
    }
}

/// Whether a provider without a monitor takes calls, by what `gmond` says of its host.
fn state_of_host(silent: SignedDuration, host: &HostMetrics) -> State {
    let seconds = u64::try_from(silent.as_secs()).unwrap_or_default();
    let host = HostMetrics {
        seconds,
        patience: host.patience,
        ..HostMetrics::default()
    };
    match host.is_up() {
        true => State::Active,
        false => State::Inactive,
    }
}

/// The host of an access point, which [`check`](super::check) has found to be a web URL.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

/// Whether a provider takes calls, by the last that is known of it.
fn state(report: Option<&StoredReport>, now: Timestamp) -> State {
    let Some(report) = report else {
        return State::Unmonitored;
    };
    if report.withdrawn {
        return State::Withdrawn;
    }
    let patience = SignedDuration::from_millis(i64::from(report.period) * PERIODS);
    match now.duration_since(report.received) <= patience {
        true => State::Active,
        false => State::Inactive,
    }
}

fn first(names: &[Text]) -> String {
    names
        .first()
        .map(|name| name.text.clone())
        .unwrap_or_default()
}

/// The entry of each key, once.
fn all<T>(
    keys: &[String],
    mut entry: impl FnMut(&str) -> Result<Option<T>, Refusal>,
) -> Result<Vec<T>, Refusal> {
    let mut seen = BTreeSet::new();
    let keys: Vec<&String> = keys.iter().filter(|key| seen.insert(*key)).collect();
    let (part, most) = ("key", MOST_KEYS);
    match keys.len() {
        0 => return Err(Refusal::Missing { part }),
        count if count > most => return Err(Refusal::TooMany { part, most }),
        _ => {}
    }
    let read = |key: &String| entry(key)?.ok_or_else(|| Refusal::NoSuchKey { key: key.clone() });
    keys.into_iter().map(read).collect()
}

fn binding_of(entry: &Entry) -> Option<BindingTemplate> {
    match entry {
        Entry::Binding(binding) => Some(binding.clone()),
        _ => None,
    }
}

fn t_model_of(entry: &Entry) -> Option<TModel> {
    match entry {
        Entry::TModel(model) => Some(model.clone()),
        _ => None,
    }
}

/// How many bytes an answer may still have.
struct Room(usize);

impl Room {
    fn take(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.0 = self.0.checked_sub(bytes).ok_or(Refusal::TooLarge)?;
        Ok(())
    }
}

/// What is looked for, ready to be compared.
struct Wanted<'f> {
    find: &'f Find,
    names: Vec<Vec<char>>,
    approximate: bool,
    ignores_case: bool,
}

impl<'f> Wanted<'f> {
    fn of(find: &'f Find) -> Result<Self, Refusal> {
        let (mut approximate, mut ignores_case) = (false, false);
        for qualifier in &find.qualifiers {
            // Each has a short name and the key of a tModel (UDDI 3.0.2, section 5.1.4.3).
            match qualifier
                .rsplit(':')
                .next()
                .unwrap_or_default()
                .to_ascii_lowercase()
                .as_str()
            {
                "exactmatch" | "casesensitivematch" | "diacriticssensitivematch" => {}
                "approximatematch" => approximate = true,
                "caseinsensitivematch" => ignores_case = true,
                _ => {
                    let found = format!("the find qualifier {qualifier}");
                    return Err(Refusal::Unsupported { found });
                }
            }
        }
        let most = find
            .names
            .len()
            .max(find.categories.len())
            .max(find.t_models.len());
        if most > MOST_WANTED {
            let (part, most) = ("what is looked for", MOST_WANTED);
            return Err(Refusal::TooMany { part, most });
        }
        let fold = |text: &Text| -> Result<Vec<char>, Refusal> {
            let name = folded(&text.text, ignores_case);
            match name.len() <= LONGEST_PATTERN {
                true => Ok(name),
                false => Err(Refusal::TooMany {
                    part: "name",
                    most: LONGEST_PATTERN,
                }),
            }
        };
        Ok(Self {
            find,
            names: find.names.iter().map(fold).collect::<Result<_, _>>()?,
            approximate,
            ignores_case,
        })
    }

    fn fits(&self, registry: &Registry, entry: &Entry) -> bool {
        let (names, categories): (&[Text], &[KeyedReference]) = match entry {
            Entry::Business(it) => (&it.names, &it.categories),
            Entry::Service(it) => (&it.names, &it.categories),
            Entry::Binding(it) => (&[], &it.categories),
            Entry::TModel(it) => (std::slice::from_ref(&it.name), &it.categories),
            Entry::Report(_) => return false,
        };
        let of = |wanted: &Option<String>, key: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| Some(wanted) == key)
        };
        let placed = match entry {
            Entry::Service(it) => of(&self.find.business_key, Some(&it.business_key)),
            Entry::Binding(it) => of(&self.find.service_key, Some(&it.service_key)),
            _ => true,
        };
        let has = |wanted: &KeyedReference| {
            categories
                .iter()
                .any(|it| it.t_model_key == wanted.t_model_key && it.key_value == wanted.key_value)
        };
        let conforms = |model: &String, binding: &BindingTemplate| {
            binding.t_models.iter().any(|it| it.t_model_key == *model)
        };
        let mut models = self.find.t_models.iter();
        let conforms = match entry {
            Entry::Binding(it) => models.all(|model| conforms(model, it)),
            Entry::Service(it) => {
                self.find.t_models.is_empty() || {
                    let mut bindings = registry.bindings_of(&it.service_key);
                    bindings.any(|binding| models.clone().all(|model| conforms(model, binding)))
                }
            }
            _ => self.find.t_models.is_empty(),
        };
        let named = self.names.is_empty() || names.iter().any(|name| self.is_named(&name.text));
        placed && named && conforms && self.find.categories.iter().all(has)
    }

    fn is_named(&self, name: &str) -> bool {
        let name = folded(name, self.ignores_case);
        let mut wanted = self.names.iter();
        match self.approximate {
            true => wanted.any(|pattern| is_like(pattern, &name)),
            false => wanted.any(|pattern| *pattern == name),
        }
    }
}

fn folded(text: &str, ignores_case: bool) -> Vec<char> {
    match ignores_case {
        true => text.chars().flat_map(char::to_lowercase).collect(),
        false => text.chars().collect(),
    }
}

/// Whether a name fits a pattern: `%` is any text, `_` any character, and `\` takes the meaning of
/// the next one away (UDDI 3.0.2, section 5.1.6). Its time is the product of both lengths at most.
fn is_like(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut read) = (0, 0);
    // Where the last `%` was, and how much of the name it covers.
    let mut retry: Option<(usize, usize)> = None;
    while read < name.len() {
        let step = match pattern.get(at) {
            Some('%') => {
                retry = Some((at + 1, read));
                at += 1;
                continue;
            }
            Some('_') => Some(1),
            Some('\\') => (pattern.get(at + 1) == Some(&name[read])).then_some(2),
            other => (other == Some(&name[read])).then_some(1),
        };
        match (step, retry) {
            (Some(step), _) => {
                at += step;
                read += 1;
            }
            (None, Some((after, covered))) => {
                retry = Some((after, covered + 1));
                (at, read) = (after, covered + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[at.min(pattern.len())..]
        .iter()
        .all(|rest| *rest == '%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_as_uddi_says() {
        let like =
            |pattern: &str, name: &str| is_like(&folded(pattern, false), &folded(name, false));
        for (pattern, name, fits) in [
            ("Books", "Books", true),
            ("Boo%", "Books", true),
            ("%oks", "Books", true),
            ("%o%k%", "Books", true),
            ("B__ks", "Books", true),
            ("B_ks", "Books", false),
            ("100\\%", "100%", true),
            ("100\\%", "1000", false),
            ("%", "", true),
            ("_", "", false),
            ("", "", true),
            ("Book", "Books", false),
            ("Books_", "Books", false),
        ] {
            assert_eq!(like(pattern, name), fits, "{pattern} {name}");
        }
    }
}
