//! The registry: what is there, and what a request does.
//!
//! The rule kept here: [`Registry::apply`] changes nothing. Its changes come into force by
//! [`Registry::commit`], once the host has kept them.

mod check;
mod entry;
mod inquiry;
mod rules;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

pub use entry::{Change, Entry, EntryKind, LoggedCalls, Owner, Record, StoredReport};
pub use rules::{Limits, PublisherRule};

use crate::answer::Answer;
use crate::calls::{Call, Calls, Logged};
use crate::ganglia::HostMetrics;
use crate::model::{BindingTemplate, BusinessEntity, BusinessService, TModel};
use crate::refusal::Refusal;
use crate::report::{Figures, Report};
use crate::request::{Keys, Request};

/// How far the clock of a provider may be ahead of the registry's.
const CLOCKS: SignedDuration = SignedDuration::from_secs(60);

/// All entries, and the rules of publication.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    entries: BTreeMap<(EntryKind, String), Record>,
    /// The keys of what is part of an entry, by its kind and key.
    parts: BTreeMap<(EntryKind, String), BTreeSet<String>>,
    /// How many entries each owner has. Reports do not count.
    counts: BTreeMap<Owner, usize>,
    rules: Vec<PublisherRule>,
    limits: Limits,
    /// What each `gmond` said last, and when.
    observed: BTreeMap<String, (Timestamp, Vec<HostMetrics>)>,
}

/// What is known about a request beside its body.
pub struct Asked<'a> {
    /// Whose certificate signed it.
    pub owner: Option<&'a Owner>,
    /// The moment.
    pub now: Timestamp,
    /// Makes a key that nothing has yet.
    pub new_key: &'a mut dyn FnMut() -> String,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The answer.
    pub answer: Answer,
    /// What the host keeps before it sends the answer.
    pub changes: Vec<Change>,
}

impl Applied {
    fn reading(answer: Answer) -> Self {
        Self {
            answer,
            changes: Vec::new(),
        }
    }
}

impl Registry {
    /// A registry with the entries of a storage.
    pub fn new(rules: Vec<PublisherRule>, limits: Limits, records: Vec<Record>) -> Self {
        let mut registry = Self {
            rules,
            limits,
            ..Self::default()
        };
        registry.commit(
            records
                .into_iter()
                .map(|record| Change::Put(Box::new(record)))
                .collect(),
        );
        registry
    }

    /// Takes other rules of publication into force. Entries that they would not admit stay, and are
    /// judged when somebody writes them again.
    pub fn replace_rules(&mut self, rules: Vec<PublisherRule>) {
        self.rules = rules;
    }

    /// Takes changes into force.
    pub fn commit(&mut self, changes: Vec<Change>) {
        for change in changes {
            match change {
                Change::Put(record) => self.put(*record),
                Change::Delete(kind, key) => self.remove(kind, key),
                Change::Log(_) => {}
            }
        }
    }

    /// Takes what a `gmond` says of its hosts in the place of what it said before. It is for
    /// providers that have no monitor of their own.
    pub fn observe(&mut self, source: &str, hosts: Vec<HostMetrics>, now: Timestamp) {
        self.observed.insert(source.to_owned(), (now, hosts));
    }

    fn put(&mut self, record: Record) {
        let (kind, key) = (record.entry.kind(), record.entry.key().to_owned());
        self.remove(kind, key.clone());
        if let Some(parent) = record.entry.parent() {
            let parts = self.parts.entry((kind, parent.to_owned())).or_default();
            parts.insert(key.clone());
        }
        if kind != EntryKind::Report {
            *self.counts.entry(record.owner.clone()).or_default() += 1;
        }
        self.entries.insert((kind, key), record);
    }

    fn remove(&mut self, kind: EntryKind, key: String) {
        let Some(record) = self.entries.remove(&(kind, key.clone())) else {
            return;
        };
        if let Some(parent) = record.entry.parent() {
            let of = (kind, parent.to_owned());
            if let Some(parts) = self.parts.get_mut(&of) {
                parts.remove(&key);
                if parts.is_empty() {
                    self.parts.remove(&of);
                }
            }
        }
        if kind != EntryKind::Report
            && let Some(count) = self.counts.get_mut(&record.owner)
        {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&record.owner);
            }
        }
    }

    /// What a request does, and what is answered.
    ///
    /// # Errors
    ///
    /// Why it is refused.
    pub fn apply(&self, request: &Request, asked: &mut Asked<'_>) -> Result<Applied, Refusal> {
        if !request.writes() {
            return self.inquire(request, asked.now).map(Applied::reading);
        }
        let owner = asked.owner.ok_or(Refusal::Unsigned)?;
        let rules = self.rules.iter();
        let rules: Vec<&PublisherRule> = rules.filter(|it| it.is_for(owner)).collect();
        if rules.is_empty() {
            let what = "anything".to_owned();
            return Err(Refusal::NotAllowed { what });
        }
        let mut draft = Draft {
            registry: self,
            owner,
            rules,
            new_key: &mut *asked.new_key,
            changes: Vec::new(),
            put: BTreeSet::new(),
            services: BTreeMap::new(),
        };
        let answer = draft.write(request, asked.now)?;
        let changes = draft.changes;
        self.has_room(owner, &changes)?;
        Ok(Applied { answer, changes })
    }

    fn has_room(&self, owner: &Owner, changes: &[Change]) -> Result<(), Refusal> {
        let new = changes.iter().filter(|change| match change {
            Change::Put(record) => {
                let (kind, key) = (record.entry.kind(), record.entry.key());
                kind != EntryKind::Report && self.record(kind, key).is_none()
            }
            Change::Delete(..) | Change::Log(_) => false,
        });
        let new = new.count();
        let own = self.counts.get(owner).copied().unwrap_or_default();
        let all: usize = self.counts.values().sum();
        let fits = own + new <= self.limits.per_owner && all + new <= self.limits.entries;
        // What is there already may change, however much is there.
        match fits || new == 0 {
            true => Ok(()),
            false => Err(Refusal::Full),
        }
    }

    fn record(&self, kind: EntryKind, key: &str) -> Option<&Record> {
        self.entries.get(&(kind, key.to_owned()))
    }

    /// The keys of what is part of an entry; `kind` is that of the parts.
    fn parts_of(&self, kind: EntryKind, key: &str) -> impl Iterator<Item = &str> {
        let parts = self.parts.get(&(kind, key.to_owned()));
        parts.into_iter().flatten().map(String::as_str)
    }
}

/// A request on its way to changes.
struct Draft<'r> {
    registry: &'r Registry,
    owner: &'r Owner,
    rules: Vec<&'r PublisherRule>,
    new_key: &'r mut dyn FnMut() -> String,
    changes: Vec<Change>,
    /// What this request has put.
    put: BTreeSet<(EntryKind, String)>,
    /// The services that this request has put.
    services: BTreeMap<String, BusinessService>,
}

impl Draft<'_> {
    fn write(&mut self, request: &Request, now: Timestamp) -> Result<Answer, Refusal> {
        Ok(match request {
            Request::SaveBusiness(given) => {
                let saved = each(given, |it| self.save_business(it))?;
                Answer::BusinessDetail(saved)
            }
            Request::SaveService(given) => {
                let saved = each(given, |it| self.save_service(it))?;
                Answer::ServiceDetail(saved)
            }
            Request::SaveBinding(given) => {
                let saved = each(given, |it| self.save_binding(it))?;
                Answer::BindingDetail(saved)
            }
            Request::SaveTModel(given) => {
                let saved = each(given, |it| self.save_t_model(it))?;
                Answer::TModelDetail(saved)
            }
            Request::DeleteBusiness(keys) => self.delete(EntryKind::Business, keys)?,
            Request::DeleteService(keys) => self.delete(EntryKind::Service, keys)?,
            Request::DeleteBinding(keys) => self.delete(EntryKind::Binding, keys)?,
            Request::DeleteTModel(keys) => self.delete(EntryKind::TModel, keys)?,
            Request::Report(report) => self.report(report, now)?,
            Request::Withdraw(keys) => self.withdraw(keys, now)?,
            Request::LogCalls(told) => self.log_calls(told, now)?,
            Request::AuthToken => Answer::AuthToken("authinfo:signature".to_owned()),
            _ => Answer::Done,
        })
    }

    fn put(&mut self, entry: Entry) {
        let owner = self.owner.clone();
        self.put.insert((entry.kind(), entry.key().to_owned()));
        let record = Box::new(Record { owner, entry });
        self.changes.push(Change::Put(record));
    }

    /// The key of an entry that is saved. One that is there must be its owner's.
    fn key(&mut self, kind: EntryKind, given: &str) -> Result<String, Refusal> {
        if given.is_empty() {
            return Ok((self.new_key)());
        }
        let key = given.to_owned();
        if self.put.contains(&(kind, key.clone())) {
            return Err(Refusal::KeyTaken { key });
        }
        match self.registry.record(kind, given) {
            Some(record) if record.owner != *self.owner => Err(Refusal::NotOwner { key }),
            _ => Ok(key),
        }
    }

    fn owned(&self, kind: EntryKind, key: &str) -> Result<&Record, Refusal> {
        let record = self.registry.record(kind, key);
        let record = record.ok_or_else(|| Refusal::NoSuchKey {
            key: key.to_owned(),
        })?;
        match record.owner == *self.owner {
            true => Ok(record),
            false => Err(Refusal::NotOwner {
                key: key.to_owned(),
            }),
        }
    }

    /// Deletes the parts of an entry that is saved without them (UDDI 3.0.2, section 5.2.16).
    fn drop_parts(&mut self, kind: EntryKind, key: &str, kept: &BTreeSet<&str>) {
        let registry = self.registry;
        let gone = registry.parts_of(kind, key).filter(|it| !kept.contains(it));
        let gone: Vec<String> = gone.map(str::to_owned).collect();
        for key in gone {
            self.delete_all(kind, &key);
        }
    }

    /// Deletes an entry with its parts. What this request has put has been moved, and stays.
    fn delete_all(&mut self, kind: EntryKind, key: &str) {
        if self.put.contains(&(kind, key.to_owned())) {
            return;
        }
        let below = match kind {
            EntryKind::Business => Some(EntryKind::Service),
            EntryKind::Service => Some(EntryKind::Binding),
            _ => None,
        };
        if let Some(below) = below {
            let parts = self.registry.parts_of(below, key);
            let parts: Vec<String> = parts.map(str::to_owned).collect();
            for part in parts {
                self.delete_all(below, &part);
            }
        }
        if kind == EntryKind::Binding {
            let report = Change::Delete(EntryKind::Report, key.to_owned());
            self.changes.push(report);
        }
        self.changes.push(Change::Delete(kind, key.to_owned()));
    }

    fn save_business(&mut self, given: &BusinessEntity) -> Result<BusinessEntity, Refusal> {
        check::business(given)?;
        let mut saved = given.clone();
        saved.business_key = self.key(EntryKind::Business, &given.business_key)?;
        let services = std::mem::take(&mut saved.services);
        self.put(Entry::Business(saved.clone()));
        let kept = services.iter().map(|it| it.service_key.as_str()).collect();
        self.drop_parts(EntryKind::Service, &saved.business_key, &kept);
        for mut service in services.iter().cloned() {
            place(
                &mut service.business_key,
                &saved.business_key,
                "businessKey",
            )?;
            saved.services.push(self.put_service(&service)?);
        }
        Ok(saved)
    }

    fn save_service(&mut self, given: &BusinessService) -> Result<BusinessService, Refusal> {
        self.owned(EntryKind::Business, &given.business_key)?;
        self.put_service(given)
    }

    /// A service of a business that is its owner's.
    fn put_service(&mut self, given: &BusinessService) -> Result<BusinessService, Refusal> {
        check::service(given)?;
        rules::allow_service(&self.rules, given)?;
        let mut saved = given.clone();
        saved.service_key = self.key(EntryKind::Service, &given.service_key)?;
        let bindings = std::mem::take(&mut saved.bindings);
        self.put(Entry::Service(saved.clone()));
        self.services
            .insert(saved.service_key.clone(), saved.clone());
        let kept = bindings.iter().map(|it| it.binding_key.as_str()).collect();
        self.drop_parts(EntryKind::Binding, &saved.service_key, &kept);
        for mut binding in bindings.iter().cloned() {
            place(&mut binding.service_key, &saved.service_key, "serviceKey")?;
            saved.bindings.push(self.save_binding(&binding)?);
        }
        Ok(saved)
    }

    fn save_binding(&mut self, given: &BindingTemplate) -> Result<BindingTemplate, Refusal> {
        check::binding(given)?;
        let service = match self.services.get(&given.service_key) {
            Some(service) => service.clone(),
            None => match &self.owned(EntryKind::Service, &given.service_key)?.entry {
                Entry::Service(service) => service.clone(),
                _ => BusinessService::default(),
            },
        };
        rules::allow_binding(&self.rules, &service, given)?;
        let mut saved = given.clone();
        saved.binding_key = self.key(EntryKind::Binding, &given.binding_key)?;
        self.put(Entry::Binding(saved.clone()));
        Ok(saved)
    }

    fn save_t_model(&mut self, given: &TModel) -> Result<TModel, Refusal> {
        check::t_model(given)?;
        let mut saved = given.clone();
        saved.t_model_key = self.key(EntryKind::TModel, &given.t_model_key)?;
        self.put(Entry::TModel(saved.clone()));
        Ok(saved)
    }

    fn delete(&mut self, kind: EntryKind, keys: &Keys) -> Result<Answer, Refusal> {
        for key in keys {
            self.owned(kind, key)?;
            self.delete_all(kind, key);
        }
        Ok(Answer::Done)
    }

    fn report(&mut self, report: &Report, now: Timestamp) -> Result<Answer, Refusal> {
        check::report(report)?;
        let taken = report.taken().ok_or(Refusal::FutureReport)?;
        if taken.duration_since(now) > CLOCKS {
            return Err(Refusal::FutureReport);
        }
        for figures in &report.bindings {
            self.newer(&figures.binding_key, taken)?;
            self.put(Entry::Report(StoredReport {
                taken,
                received: now,
                period: report.period.min(self.registry.limits.period),
                withdrawn: false,
                figures: figures.clone(),
                host: report.host,
            }));
        }
        Ok(Answer::Done)
    }

    /// That a binding is its owner's, and that what is said of it is newer than what is known.
    fn newer(&self, key: &str, taken: Timestamp) -> Result<(), Refusal> {
        self.owned(EntryKind::Binding, key)?;
        match self.registry.report_of(key) {
            Some(last) if last.taken >= taken => Err(Refusal::StaleReport {
                key: key.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    fn log_calls(&mut self, told: &Calls, now: Timestamp) -> Result<Answer, Refusal> {
        if !self.registry.limits.logs_calls {
            let found = "calls: it has no [calls] in its file".to_owned();
            return Err(Refusal::Unsupported { found });
        }
        check::calls(told)?;
        let latest = (now + CLOCKS).as_millisecond();
        let mut known = Vec::with_capacity(told.calls.len());
        for call in &told.calls {
            if call.time > latest {
                return Err(Refusal::FutureReport);
            }
            if call.is_of_broker() {
                rules::allow_calls(&self.rules)?;
            }
            match self.is_of_own_entry(call) {
                // It was deleted meanwhile, or is not saved. Other calls are none the worse.
                Err(Refusal::NoSuchKey { .. }) => continue,
                own => own?,
            }
            known.push(call.clone());
        }
        let logged = Logged {
            calls: known.len() as u64,
            unknown: (told.calls.len() - known.len()) as u64,
        };
        if !known.is_empty() {
            self.changes.push(Change::Log(Box::new(LoggedCalls {
                owner: self.owner.clone(),
                source: told.source.clone(),
                received: now,
                calls: known,
            })));
        }
        Ok(Answer::Logged(logged))
    }

    /// That a call is one of an entry of its owner's, if it names one. What a provider tells is of
    /// itself.
    fn is_of_own_entry(&self, call: &Call) -> Result<(), Refusal> {
        let Some(key) = &call.binding_key else {
            return Ok(());
        };
        let Entry::Binding(binding) = &self.owned(EntryKind::Binding, key)?.entry else {
            return Ok(());
        };
        if call.is_of_broker() {
            return Ok(());
        }
        if call.provider.as_deref() != Some(&binding.access_point) {
            let (part, expected) = ("provider", "the access point of the entry");
            return Err(Refusal::Value { part, expected });
        }
        let service = self
            .registry
            .record(EntryKind::Service, &binding.service_key);
        let is_named = service.is_some_and(|record| match &record.entry {
            Entry::Service(it) => it
                .names
                .iter()
                .any(|name| call.service.as_ref() == Some(&name.text)),
            _ => false,
        });
        match is_named {
            true => Ok(()),
            false => Err(Refusal::Value {
                part: "service",
                expected: "a name of the service of the entry",
            }),
        }
    }

    fn withdraw(&mut self, keys: &Keys, now: Timestamp) -> Result<Answer, Refusal> {
        for key in keys {
            self.owned(EntryKind::Binding, key)?;
            let last = self.registry.report_of(key).cloned();
            let last = last.unwrap_or_else(|| StoredReport {
                taken: now,
                received: now,
                period: self.registry.limits.period,
                withdrawn: true,
                figures: Figures {
                    binding_key: key.clone(),
                    ..Figures::default()
                },
                host: Default::default(),
            });
            self.put(Entry::Report(StoredReport {
                withdrawn: true,
                // A report that was taken before, and arrives late, brings nothing back.
                taken: last.taken.max(now),
                ..last
            }));
        }
        Ok(Answer::Done)
    }
}

/// Saves each of some entries. A request without entries is none.
fn each<T>(given: &[T], save: impl FnMut(&T) -> Result<T, Refusal>) -> Result<Vec<T>, Refusal> {
    match given.is_empty() {
        true => Err(Refusal::Missing { part: "entry" }),
        false => given.iter().map(save).collect(),
    }
}

/// Puts a part in its place: it may name no other one.
fn place(named: &mut String, key: &str, part: &'static str) -> Result<(), Refusal> {
    if !named.is_empty() && named != key {
        let expected = "that of the entry around it";
        return Err(Refusal::Value { part, expected });
    }
    key.clone_into(named);
    Ok(())
}
