//! A bench that makes no call: it answers at once, with times that it was told.

use super::*;

/// Answers at once, and says it took what was asked of it.
pub(super) struct Pretending {
    /// Microseconds without security.
    pub(super) plain: u64,
    /// Microseconds signed and encrypted.
    pub(super) secured: u64,
    /// What was called. The first call of a kind takes a second.
    pub(super) calls: Vec<Call>,
    /// Fails at this call.
    pub(super) fails_at: usize,
    /// Calls whose conversation was ended, and that were not made since.
    pub(super) ended: Vec<Call>,
    /// How long a call with keys of certificates takes really.
    pub(super) really: Duration,
}

impl Pretending {
    pub(super) fn new(plain: u64, secured: u64) -> Self {
        Self {
            plain,
            secured,
            calls: Vec::new(),
            fails_at: usize::MAX,
            ended: Vec::new(),
            really: Duration::ZERO,
        }
    }

    /// Takes its time, where the call takes some.
    fn take_time(&self, call: &Call) {
        if call.setup.has_rsa_keys() {
            std::thread::sleep(self.really);
        }
    }
}

type Made<T> = Result<T, NoCall<&'static str>>;

impl Bench for Pretending {
    type Failure = &'static str;

    fn call(&mut self, call: &Call) -> Made<Duration> {
        if self.calls.len() == self.fails_at {
            return Err(NoCall::Failed("no answer"));
        }
        if call.stack == Stack::Gsoap && call.setup.has_rsa_keys() {
            return Err(NoCall::LeftOut("no such suite".to_owned()));
        }
        let ended = self.ended.iter().position(|it| it == call);
        let ended = ended.map(|at| self.ended.remove(at));
        let known = ended.is_none() && self.calls.contains(call);
        self.take_time(call);
        self.calls.push(*call);
        Ok(Duration::from_micros(match call.setup {
            _ if !known => 1_000_000,
            setup if setup.direct => self.plain / 2,
            Setup::PLAIN => self.plain,
            _ => self.secured,
        }))
    }

    /// The next call takes a second again.
    fn end_conversation(&mut self, call: &Call) -> Made<()> {
        if call.setup.mechanism == Mechanism::SecureConversation {
            self.ended.push(*call);
        }
        Ok(())
    }

    fn weigh(&mut self, call: &Call) -> Made<Sizes> {
        let plain = 200;
        let secured = if call.setup.suite.is_empty() {
            plain
        } else {
            2 * plain
        };
        let half = secured / 2;
        Ok(Sizes {
            plain,
            secured,
            apart: Some([half, secured - half]),
        })
    }

    fn together(&mut self, call: &Call, clients: u32, requests: u32) -> Made<Vec<Duration>> {
        (0..clients * requests).map(|_| self.call(call)).collect()
    }

    fn paced(&mut self, call: &Call, per_second: f64, lasting: Duration) -> Made<Vec<Duration>> {
        let calls = (per_second * lasting.as_secs_f64()) as u32;
        self.together(call, 1, calls)
    }

    fn providers(
        &mut self,
        _call: &Call,
        front: &str,
        _trial: Trial,
        clients: u32,
        requests: u32,
    ) -> Made<ProvidersRound> {
        if front != "none" {
            return Err(NoCall::LeftOut("it is not there".to_owned()));
        }
        // The first calls only start what is in front.
        let times = (1..=u64::from(clients * requests)).map(Duration::from_millis);
        Ok(ProvidersRound {
            times: times.collect(),
            lost: 2,
            ended: Some(Duration::from_millis(7)),
            below: Some(0),
            met: Some(90.0),
            classes: [("bank", vec![Duration::from_millis(3)])].into(),
            violations: Some(2),
            unrecorded: Some(0),
        })
    }

    fn process(&mut self, call: &Call, step: Step, repetitions: u32) -> Made<Vec<Duration>> {
        let took = match step {
            Step::Secure => self.plain,
            Step::Open => self.secured,
        };
        self.calls.push(*call);
        Ok(vec![Duration::from_micros(took); repetitions as usize])
    }

    fn fresh(&mut self, call: &Call, calls: u32) -> Made<Vec<Duration>> {
        self.calls.clear();
        self.together(call, 1, calls)
    }

    fn by_the_client(&mut self, call: &Call) -> Made<[Duration; 2]> {
        self.calls.push(*call);
        let opened = match call.setup.has_rsa_keys() {
            true => self.secured,
            false => self.plain,
        };
        Ok([self.plain, opened].map(Duration::from_micros))
    }

    fn under(
        &mut self,
        call: &Call,
        condition: &Condition,
        clients: u32,
        requests: u32,
        rounds: u32,
    ) -> Made<Vec<Round>> {
        if call.setup.has_rsa_keys() {
            return Err(NoCall::LeftOut(format!("too much for {condition}")));
        }
        let round = Round {
            times: vec![Duration::from_millis(4); (clients * requests) as usize],
            lasted: Duration::from_millis(4) * requests,
            memory: Some(1 << 20),
        };
        Ok(vec![round; rounds as usize])
    }
}
