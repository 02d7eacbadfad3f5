//! The conditions of an assertion: when, for whom and how often it holds (SAML Core 2.0, 2.5; SAML
//! Core 1.1, 2.3.2).
//!
//! The one rule: all conditions hold together. One that is not understood makes the assertion
//! indeterminate, and an indeterminate assertion is refused.

use std::time::Duration;

use jiff::Timestamp;
use soapstone_xml::Element;

use super::reading::{Reader, excerpt, malformed, optional_instant};
use crate::freshness::later;
use crate::names::{SAML11, SAML20};
use crate::rejected::Rejected;

/// What limits the use of an assertion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    pub(super) life: Life,
    /// Each restriction names the audiences that it allows.
    pub(super) audiences: Vec<Vec<String>>,
    /// Whether the assertion is for one use.
    pub(super) once: bool,
    /// Whether it limits the assertions that others make from it.
    pub(super) limits_proxies: bool,
}

/// When something holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Life {
    pub(super) begin: Option<Timestamp>,
    pub(crate) end: Option<Timestamp>,
}

/// Most audiences of an assertion.
const MOST_AUDIENCES: usize = 64;

impl Conditions {
    pub(super) fn read_20(element: Element<'_>) -> Result<Self, Rejected> {
        let reader = Reader::of(element, &["NotBefore", "NotOnOrAfter"])?;
        let mut read = Self::begun(element)?;
        let (mut once, mut restricted) = (0, 0);
        let mut children = reader.children();
        while let Some(child) = children.any() {
            match (child.namespace(), child.local()) {
                (SAML20, "AudienceRestriction") => read.restrict(child, SAML20)?,
                (SAML20, "OneTimeUse") => {
                    Reader::of(child, &[])?.end()?;
                    once += 1;
                }
                // Speaks of assertions that are made from this one, and of no other use of it.
                (SAML20, "ProxyRestriction") => {
                    let mut children = Reader::of(child, &["Count"])?.children();
                    while let Some(audience) = children.optional(SAML20, "Audience") {
                        Reader::of(audience, &[])?.text()?;
                    }
                    children.end()?;
                    restricted += 1;
                }
                _ => return Err(not_understood(child)),
            }
        }
        children.end()?;
        // SAML Core 2.0, 2.5.1.5 and 2.5.1.6.
        if once > 1 || restricted > 1 {
            return Err(malformed("expected a condition once, found it twice"));
        }
        read.once = once > 0;
        read.limits_proxies = restricted > 0;
        Ok(read)
    }

    pub(super) fn read_11(element: Element<'_>) -> Result<Self, Rejected> {
        let reader = Reader::of(element, &["NotBefore", "NotOnOrAfter"])?;
        let mut read = Self::begun(element)?;
        let mut children = reader.children();
        while let Some(child) = children.any() {
            match (child.namespace(), child.local()) {
                (SAML11, "AudienceRestrictionCondition") => read.restrict(child, SAML11)?,
                (SAML11, "DoNotCacheCondition") => {
                    Reader::of(child, &[])?.end()?;
                    read.once = true;
                }
                _ => return Err(not_understood(child)),
            }
        }
        children.end()?;
        Ok(read)
    }

    fn begun(element: Element<'_>) -> Result<Self, Rejected> {
        Ok(Self {
            life: Life::read(element)?,
            ..Self::default()
        })
    }

    fn restrict(&mut self, restriction: Element<'_>, namespace: &str) -> Result<(), Rejected> {
        let mut children = Reader::of(restriction, &[])?.children();
        let mut audiences = Vec::new();
        while let Some(audience) = children.optional(namespace, "Audience") {
            // `xsd:anyURI` has no white space around it.
            let audience = Reader::of(audience, &[])?.text()?;
            audiences.push(audience.trim().to_owned());
        }
        children.end()?;
        let known: usize = self.audiences.iter().map(Vec::len).sum();
        if audiences.is_empty() {
            return Err(malformed("expected an `Audience` in the restriction"));
        }
        if known + audiences.len() > MOST_AUDIENCES {
            return Err(Rejected::TooMany {
                what: "audiences of an assertion",
                limit: MOST_AUDIENCES,
            });
        }
        self.audiences.push(audiences);
        Ok(())
    }

    /// Whether the assertion is for one of ours: every restriction allows one of them (SAML Core
    /// 2.0, 2.5.1.4).
    pub(super) fn check_audience(&self, ours: &[String]) -> Result<(), Rejected> {
        if ours.is_empty() && self.audiences.is_empty() {
            return Ok(());
        }
        let is_for_us = |audiences: &Vec<String>| audiences.iter().any(|one| ours.contains(one));
        let found = match self.audiences.iter().find(|one| !is_for_us(one)) {
            Some(others) => others.join(", "),
            None if self.audiences.is_empty() => "none".to_owned(),
            None => return Ok(()),
        };
        Err(Rejected::AudienceMismatch {
            found: excerpt(&found),
        })
    }
}

impl Life {
    /// Reads the times of an element. One that ends before it begins never holds.
    pub(super) fn read(element: Element<'_>) -> Result<Self, Rejected> {
        let life = Self {
            begin: optional_instant(element, "NotBefore")?,
            end: optional_instant(element, "NotOnOrAfter")?,
        };
        match life {
            // SAML Core 2.0, 2.5.1.2.
            Self {
                begin: Some(begin),
                end: Some(end),
            } if begin >= end => Err(malformed("expected `NotBefore` before `NotOnOrAfter`")),
            life => Ok(life),
        }
    }

    /// Whether it holds now.
    pub(super) fn check(&self, skew: Duration, now: Timestamp) -> Result<(), Rejected> {
        if let Some(begin) = self.begin.filter(|begin| *begin > later(now, skew)) {
            return Err(Rejected::AssertionInFuture {
                begins: begin,
                now,
                skew: skew.as_secs(),
            });
        }
        match self.end.filter(|end| now >= later(*end, skew)) {
            Some(expired) => Err(Rejected::AssertionExpired {
                expired,
                now,
                skew: skew.as_secs(),
            }),
            None => Ok(()),
        }
    }
}

fn not_understood(condition: Element<'_>) -> Rejected {
    Rejected::ConditionUnknown {
        found: excerpt(&crate::envelope::expanded_name(condition)),
    }
}
