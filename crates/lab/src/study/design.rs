//! Designs of experiments: factors of the user's, each with two levels, in every combination.
//!
//! The rule kept here: a factor is named after what it sets, and a combination has one arm that
//! names the level of each factor.

use std::collections::BTreeMap;
use std::fmt;

use soapstone::wss::{Mechanism, SUITE_NAMES};

use super::call::{Call, Operation, Stack};
use super::point::{Arm, Point, Procedure};
use super::setup::Setup;

/// The most factors: 4,096 combinations.
const MOST_FACTORS: usize = 12;
/// The longest text of an echo: the services take 8 MiB at most.
const MOST_BYTES: u32 = 8_000_000;
/// The most clients at once.
const MOST_CLIENTS: u32 = 1_000;
/// Sizes of RSA keys.
const RSA_BITS: [u32; 4] = [1_024, 2_048, 3_072, 4_096];

/// A design with all combinations of its factors' levels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Design {
    combinations: Vec<Combination>,
    /// Calls of each client in a repetition.
    pub requests: u32,
    /// Repetitions of each combination.
    pub repetitions: u32,
}

/// One level of each factor.
#[derive(Clone, Debug, PartialEq)]
struct Combination {
    /// Of factors with two levels, in the order of the user, but for clients.
    levels: Vec<(Setting, String)>,
    /// The number of clients, where it is a factor.
    clients: Option<String>,
    call: Call,
    at_once: u32,
}

/// What a factor sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    Encryption,
    Signature,
    Mechanism,
    Suite,
    Rsa,
    Tls,
    Clients,
    Operation,
    Bytes,
}

/// A factor, or a setting that does not vary.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Factor {
    sets: Setting,
    levels: Vec<String>,
}

/// What is wrong with a design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoDesign(String);

impl fmt::Display for NoDesign {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for NoDesign {}

impl Setting {
    const ALL: [Self; 9] = [
        Self::Encryption,
        Self::Signature,
        Self::Mechanism,
        Self::Suite,
        Self::Rsa,
        Self::Tls,
        Self::Clients,
        Self::Operation,
        Self::Bytes,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Encryption => "encryption",
            Self::Signature => "signature",
            Self::Mechanism => "mechanism",
            Self::Suite => "suite",
            Self::Rsa => "rsa",
            Self::Tls => "tls",
            Self::Clients => "clients",
            Self::Operation => "operation",
            Self::Bytes => "bytes",
        }
    }
}

/// Everything that a call is made of.
struct Settings {
    encryption: bool,
    signature: bool,
    mechanism: Option<Mechanism>,
    suite: &'static str,
    rsa: Option<u32>,
    tls: bool,
    clients: u32,
    operation: Operation,
    bytes: Option<u32>,
}

impl Design {
    /// The design of these factors, each `NAME=LEVEL,LEVEL`; `NAME=LEVEL` is set, and does not
    /// vary.
    ///
    /// # Errors
    /// What is expected instead.
    pub fn read(factors: &[String], requests: u32, repetitions: u32) -> Result<Self, NoDesign> {
        let mut all: Vec<Factor> = Vec::new();
        for text in factors {
            let factor = Factor::read(text)?;
            if all.iter().any(|it| it.sets == factor.sets) {
                return Err(NoDesign(format!("{} is named twice", factor.sets.name())));
            }
            all.push(factor);
        }
        let has = |wanted: Setting| all.iter().any(|it| it.sets == wanted);
        let is_by_parts = has(Setting::Encryption) || has(Setting::Signature);
        if has(Setting::Mechanism) && is_by_parts {
            return Err(NoDesign(
                "mechanism says which messages are encrypted and signed: expected encryption and signature, or mechanism".to_owned(),
            ));
        }
        let varied: Vec<&Factor> = all.iter().filter(|it| it.levels.len() == 2).collect();
        if varied.is_empty() || varied.len() > MOST_FACTORS {
            return Err(NoDesign(format!(
                "expected 1 to {MOST_FACTORS} factors with two levels each, found {}",
                varied.len()
            )));
        }
        let combinations = (0..1_usize << varied.len()).map(|number| {
            let mut settings = Settings {
                encryption: !is_by_parts,
                signature: !is_by_parts,
                mechanism: None,
                suite: "Basic128GCM",
                rsa: None,
                tls: false,
                clients: 1,
                operation: Operation::Sum,
                bytes: None,
            };
            let (mut levels, mut clients) = (Vec::new(), None);
            for factor in &all {
                let place = varied.iter().position(|it| it.sets == factor.sets);
                let level = match place {
                    Some(place) => &factor.levels[number >> place & 1],
                    None => &factor.levels[0],
                };
                settings.set(factor.sets, level)?;
                match (place, factor.sets) {
                    (None, _) => {}
                    (Some(_), Setting::Clients) => clients = Some(level.clone()),
                    (Some(_), sets) => levels.push((sets, level.clone())),
                }
            }
            Ok(Combination {
                levels,
                clients,
                call: settings.call()?,
                at_once: settings.clients,
            })
        });
        Ok(Self {
            combinations: combinations.collect::<Result<_, _>>()?,
            requests,
            repetitions,
        })
    }

    /// The names of all combinations.
    pub fn names(&self) -> Vec<String> {
        let combinations = self.combinations.iter();
        let names = combinations.map(|it| match &it.clients {
            Some(clients) => format!("{} clients={clients}", it.name()).trim().to_owned(),
            None => it.name(),
        });
        names.collect()
    }

    /// A point for each number of clients, with an arm for each combination.
    pub(crate) fn points(&self, shown_in: &'static str) -> Vec<Point> {
        let mut points: Vec<Point> = Vec::new();
        for combination in &self.combinations {
            let clients = combination.clients.clone();
            let at: BTreeMap<&'static str, String> =
                clients.map(|it| ("clients", it)).into_iter().collect();
            let arm = Arm {
                name: combination.name(),
                call: combination.call,
            };
            match points.iter_mut().find(|it| it.at == at) {
                Some(point) => point.arms.push(arm),
                None => points.push(Point {
                    shown_in,
                    at,
                    arms: vec![arm],
                    procedure: Procedure::Together {
                        clients: combination.at_once,
                        requests: self.requests,
                        repetitions: self.repetitions,
                    },
                }),
            }
        }
        points
    }
}

impl Combination {
    /// `rsa=1024 suite=Basic128`.
    fn name(&self) -> String {
        let levels = self.levels.iter();
        let levels: Vec<String> = levels
            .map(|(sets, level)| format!("{}={level}", sets.name()))
            .collect();
        match levels.as_slice() {
            [] => "all".to_owned(),
            levels => levels.join(" "),
        }
    }
}

impl Factor {
    fn read(text: &str) -> Result<Self, NoDesign> {
        let (name, levels) = text.split_once('=').ok_or_else(|| {
            NoDesign(format!(
                "expected NAME=LEVEL,LEVEL, such as rsa=1024,2048, found {text}"
            ))
        })?;
        let mut settings = Setting::ALL.into_iter();
        let sets = settings.find(|it| it.name() == name).ok_or_else(|| {
            let names = Setting::ALL.map(Setting::name).join(", ");
            NoDesign(format!("expected a factor ({names}), found {name}"))
        })?;
        let levels: Vec<String> = levels.split(',').map(str::to_owned).collect();
        if levels.len() > 2 || levels.first() == levels.get(1) {
            return Err(NoDesign(format!(
                "{name}: expected two levels that differ, or one that does not vary, found {}",
                levels.join(",")
            )));
        }
        Ok(Self { sets, levels })
    }
}

impl Settings {
    fn set(&mut self, setting: Setting, level: &str) -> Result<(), NoDesign> {
        let expected = |what: &str| {
            NoDesign(format!(
                "{}: expected {what}, found {level}",
                setting.name()
            ))
        };
        let flag = || match level {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(expected("on or off")),
        };
        let number = |most: u32| {
            let found = level.parse().ok();
            let found = found.filter(|it| (1..=most).contains(it));
            found.ok_or_else(|| expected(&format!("a number from 1 to {most}")))
        };
        match setting {
            Setting::Encryption => self.encryption = flag()?,
            Setting::Signature => self.signature = flag()?,
            Setting::Mechanism => {
                let found = level.parse().map_err(|_| {
                    let names = Mechanism::ALL.map(Mechanism::name).join(", ");
                    expected(&format!("a mechanism ({names})"))
                })?;
                self.mechanism = Some(found);
            }
            Setting::Suite => {
                let found = SUITE_NAMES.iter().find(|it| **it == level);
                let names = || expected(&format!("a suite ({})", SUITE_NAMES.join(", ")));
                self.suite = found.ok_or_else(names)?;
            }
            Setting::Rsa => {
                let bits = level.parse().ok().filter(|it| RSA_BITS.contains(it));
                let sizes = RSA_BITS.map(|it| it.to_string()).join(", ");
                self.rsa = Some(bits.ok_or_else(|| expected(&format!("bits ({sizes})")))?);
            }
            Setting::Tls => self.tls = flag()?,
            Setting::Clients => self.clients = number(MOST_CLIENTS)?,
            Setting::Operation => {
                self.operation = match level {
                    "sum" => Operation::Sum,
                    "echo" => Operation::Echo { characters: 12 },
                    "employee" => Operation::OneEmployee,
                    "employees" => Operation::Employees,
                    _ => return Err(expected("sum, echo, employee or employees")),
                };
            }
            Setting::Bytes => self.bytes = Some(number(MOST_BYTES)?),
        }
        Ok(())
    }

    fn call(&self) -> Result<Call, NoDesign> {
        let mechanism = self
            .mechanism
            .unwrap_or(match (self.signature, self.encryption) {
                (false, false) => Mechanism::None,
                (true, false) => Mechanism::Sign,
                (false, true) => Mechanism::Encrypt,
                (true, true) => Mechanism::SignEncrypt,
            });
        // Where nothing is signed or encrypted there are no algorithms and no keys.
        let mut setup = match mechanism.signs() || mechanism.encrypts() {
            true => Setup::secured(mechanism, self.suite),
            false => Setup::secured(mechanism, ""),
        };
        if let Some(bits) = self.rsa
            && !setup.suite.is_empty()
        {
            if setup.agrees() {
                return Err(NoDesign(format!("rsa: {} has no RSA keys", self.suite)));
            }
            setup = setup.with_rsa(bits);
        }
        if self.tls {
            setup = setup.over_tls();
        }
        let operation = match (self.bytes, self.operation) {
            (Some(characters), Operation::Echo { .. } | Operation::Sum) => {
                Operation::Echo { characters }
            }
            (Some(_), _) => {
                return Err(NoDesign(
                    "bytes: expected an echo, whose text they are".to_owned(),
                ));
            }
            (None, operation) => operation,
        };
        Ok(Call {
            stack: Stack::Soapstone,
            setup,
            operation,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(factors: &[&str]) -> Result<Design, NoDesign> {
        let factors: Vec<String> = factors.iter().map(|it| (*it).to_owned()).collect();
        Design::read(&factors, 20, 30)
    }

    fn wrong(factors: &[&str]) -> String {
        read(factors).expect_err("no design").to_string()
    }

    #[test]
    fn every_combination_of_levels_is_one_arm() {
        let design = read(&[
            "rsa=1024,2048",
            "suite=TripleDes,Basic128GCM",
            "clients=5,10",
        ]);
        let design = design.expect("a design");
        assert_eq!(
            design.names(),
            [
                "rsa=1024 suite=TripleDes clients=5",
                "rsa=2048 suite=TripleDes clients=5",
                "rsa=1024 suite=Basic128GCM clients=5",
                "rsa=2048 suite=Basic128GCM clients=5",
                "rsa=1024 suite=TripleDes clients=10",
                "rsa=2048 suite=TripleDes clients=10",
                "rsa=1024 suite=Basic128GCM clients=10",
                "rsa=2048 suite=Basic128GCM clients=10",
            ]
        );
        let points = design.points("allocation");
        let arms: Vec<usize> = points.iter().map(|it| it.arms.len()).collect();
        assert_eq!(arms, [4, 4]);
        let setups: Vec<String> = points[1]
            .arms
            .iter()
            .map(|it| it.call.setup.arm())
            .collect();
        assert_eq!(
            setups,
            [
                "sign-encrypt/TripleDes/rsa1024",
                "sign-encrypt/TripleDes",
                "sign-encrypt/Basic128GCM/rsa1024",
                "sign-encrypt/Basic128GCM",
            ]
        );
        assert!(matches!(
            points[1].procedure,
            Procedure::Together { clients: 10, .. }
        ));
    }

    #[test]
    fn what_has_one_level_is_set_in_all_combinations() {
        let design = read(&["encryption=off,on", "bytes=1000", "clients=3"]).expect("a design");
        assert_eq!(design.names(), ["encryption=off", "encryption=on"]);
        let points = design.points("allocation");
        assert!(matches!(
            points[0].procedure,
            Procedure::Together { clients: 3, .. }
        ));
        let calls: Vec<(String, Operation)> = points[0]
            .arms
            .iter()
            .map(|it| (it.call.setup.arm(), it.call.operation))
            .collect();
        let echo = Operation::Echo { characters: 1_000 };
        assert_eq!(
            calls,
            [
                ("none".to_owned(), echo),
                ("encrypt/Basic128GCM".to_owned(), echo)
            ]
        );
    }

    #[test]
    fn what_is_no_design_is_told() {
        assert_eq!(
            wrong(&["rsa"]),
            "expected NAME=LEVEL,LEVEL, such as rsa=1024,2048, found rsa"
        );
        assert_eq!(
            wrong(&["keys=1,2"]),
            "expected a factor (encryption, signature, mechanism, suite, rsa, tls, clients, operation, bytes), found keys"
        );
        assert_eq!(
            wrong(&["rsa=1024,1024"]),
            "rsa: expected two levels that differ, or one that does not vary, found 1024,1024"
        );
        assert_eq!(
            wrong(&["rsa=512,2048"]),
            "rsa: expected bits (1024, 2048, 3072, 4096), found 512"
        );
        assert_eq!(
            wrong(&["rsa=2048"]),
            "expected 1 to 12 factors with two levels each, found 0"
        );
        assert_eq!(wrong(&["tls=on,off", "tls=on"]), "tls is named twice");
        assert_eq!(
            wrong(&["rsa=1024,2048", "suite=Basic128GCMEcdhEs"]),
            "rsa: Basic128GCMEcdhEs has no RSA keys"
        );
        assert_eq!(
            wrong(&["mechanism=sign,encrypt", "signature=on"]),
            "mechanism says which messages are encrypted and signed: expected encryption and signature, or mechanism"
        );
        assert_eq!(
            wrong(&["bytes=10,20", "operation=employee"]),
            "bytes: expected an echo, whose text they are"
        );
        assert_eq!(
            wrong(&["clients=0,5"]),
            "clients: expected a number from 1 to 1000, found 0"
        );
    }
}
