//! Clocks that are set to other times and right again, in any order, with messages, copies and
//! restarts between: what is accepted, compared with what a model says that may be.

use std::collections::HashMap;

use jiff::Timestamp;
use soapstone::clock::Elapsed;
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{End, ReplayKey};
use soapstone_testkit::{Elapsed as Passed, Folder};

use crate::{FileReplay, MemoryReplay, ProcessMemory};

/// The customary life of a message, and how far clocks may differ.
const TTL: i64 = 300;
const SKEW: i64 = 60;

/// The true time at the beginning.
const BEGIN: i64 = 1_800_000_000;

/// Numbers that are the same in each run of the tests (Marsaglia's xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    fn seconds(&mut self, most: i64) -> i64 {
        let most = u64::try_from(most).expect("no time before the beginning");
        i64::try_from(self.below(most)).expect("few seconds")
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let last = u64::try_from(choices.len()).expect("few choices");
        choices[usize::try_from(self.below(last)).expect("one of these")]
    }
}

/// A message: what it proves of its life, where it proves anything.
#[derive(Clone, Copy, Debug)]
struct Message {
    number: u32,
    life: Option<(i64, i64)>,
}

/// Why a message is not accepted.
#[derive(Debug, PartialEq, Eq)]
enum Refused {
    /// By its own times.
    Late,
    Replay(ReplayError),
}

/// A clock of the store that reads the time of a test.
fn clock(passed: &Passed) -> Elapsed {
    let passed = passed.clone();
    Elapsed::read_by(move || passed.get())
}

/// A store of which the machine and the process may be started anew.
trait Store {
    fn replay(&self) -> &dyn ReplayCache;
    /// As far as it remembers anything then.
    fn restart(&mut self, machine: bool);
    fn passed(&self) -> &Passed;
}

struct InMemory {
    process: ProcessMemory,
    replay: MemoryReplay,
    capacity: usize,
    passed: Passed,
}

impl InMemory {
    fn new(capacity: usize) -> Self {
        let passed = Passed::default();
        let process = ProcessMemory::by(clock(&passed));
        Self {
            replay: MemoryReplay::new(capacity).within(&process),
            process,
            capacity,
            passed,
        }
    }
}

impl Store for InMemory {
    fn replay(&self) -> &dyn ReplayCache {
        &self.replay
    }

    /// A change of configuration: a process that ends takes its memory with it.
    fn restart(&mut self, _: bool) {
        self.replay = MemoryReplay::new(self.capacity).within(&self.process);
    }

    fn passed(&self) -> &Passed {
        &self.passed
    }
}

struct InFile {
    folder: Folder,
    replay: FileReplay,
    capacity: usize,
    passed: Passed,
}

impl InFile {
    fn new(capacity: usize) -> Self {
        let folder = Folder::new();
        let passed = Passed::default();
        Self {
            replay: Self::open(&folder, capacity, &passed),
            folder,
            capacity,
            passed,
        }
    }

    fn open(folder: &Folder, capacity: usize, passed: &Passed) -> FileReplay {
        let path = folder.path("marks");
        let mut replay = FileReplay::open(&path, capacity)
            .expect("the folder is writable")
            .measured_by(clock(passed));
        replay.own_mut().share(&ProcessMemory::by(clock(passed)));
        replay
    }
}

impl Store for InFile {
    fn replay(&self) -> &dyn ReplayCache {
        &self.replay
    }

    fn restart(&mut self, machine: bool) {
        if machine {
            self.passed.set(0);
        }
        self.replay = Self::open(&self.folder, self.capacity, &self.passed);
    }

    fn passed(&self) -> &Passed {
        &self.passed
    }
}

/// A world with a true time, and a clock.
struct World<S> {
    store: S,
    time: i64,
    ahead: i64,
    sent: u32,
    /// The true time at which each message was accepted last.
    accepted: HashMap<u32, i64>,
}

impl<S: Store> World<S> {
    fn new(store: S) -> Self {
        Self {
            store,
            time: BEGIN,
            ahead: 0,
            sent: 0,
            accepted: HashMap::new(),
        }
    }

    fn wait(&mut self, seconds: i64) {
        self.time += seconds;
        self.store.passed().pass(seconds);
    }

    /// A new message of somebody whose clock is so many seconds ahead of the true time, and who
    /// gives it so long a life.
    fn message(&mut self, ahead: i64, life: Option<i64>) -> Message {
        self.sent += 1;
        let created = self.time + ahead;
        Message {
            number: self.sent,
            life: life.map(|life| (created, created + life)),
        }
    }

    /// Offers a message, as an endpoint does that reads its times first.
    fn offer(&mut self, message: Message) -> Result<(), Refused> {
        let clock = self.time + self.ahead;
        let (until, end) = match message.life {
            Some((created, expires)) => {
                let until = expires.min(created + TTL) + SKEW;
                if created > clock + SKEW || clock >= until {
                    return Err(Refused::Late);
                }
                (until, End::Proven)
            }
            None => (clock + TTL + SKEW, End::Counted),
        };
        let moment = |second| Timestamp::from_second(second).expect("a moment");
        let mut key = [0; 32];
        // All in one shard, and in many.
        key[0] = message.number.to_le_bytes()[0] & 3;
        key[28..].copy_from_slice(&message.number.to_le_bytes());
        let until = moment(until);
        let marks = [ReplayKey { key, until, end }];
        let first_seen = self.store.replay().first_seen(&marks, moment(clock));
        first_seen.map_err(Refused::Replay)?;
        let before = self.accepted.insert(message.number, self.time);
        if let Some(before) = before {
            assert!(
                message.life.is_none() && before + TTL + SKEW <= self.time,
                "{message:?} was accepted {} s ago",
                self.time - before
            );
        }
        Ok(())
    }

    /// Offers a message of somebody with a right clock.
    fn offer_fresh(&mut self) -> Result<(), Refused> {
        let message = self.message(0, Some(TTL));
        self.offer(message)
    }
}

/// What may happen at random.
struct Course {
    /// In seconds, how long the clock is wrong at most.
    longest: i64,
    /// How often all copies are offered in the end, while the clock gets to where it was before.
    again: u32,
    /// Whether the store has room for all messages.
    is_large: bool,
}

fn live(store: impl Store, dice: &mut Dice, course: &Course) {
    let mut world = World::new(store);
    let mut messages = Vec::new();
    for _ in 0..4 {
        let begin = world.time;
        world.ahead = dice.one_of(&[
            0,
            10,
            100,
            500,
            4000,
            86_400,
            315_000_000,
            -10,
            -100,
            -500,
            -4000,
            -86_400,
        ]);
        for _ in 0..60 {
            match dice.below(10) {
                0..=3 => {
                    // By the clock of the gateway, or a right one, each a little off.
                    let ahead = dice.one_of(&[0, world.ahead]) + dice.seconds(100) - 50;
                    let life = dice.one_of(&[None, Some(TTL), Some(5), Some(100_000)]);
                    let message = world.message(ahead, life);
                    messages.push(message);
                    world.offer(message).ok();
                }
                4..=7 if !messages.is_empty() => {
                    let copy = dice.one_of(&messages);
                    world.offer(copy).ok();
                }
                8 if dice.below(4) == 0 => {
                    let machine = dice.below(2) == 0;
                    world.store.restart(machine);
                }
                8 if dice.below(3) == 0 => world.ahead += dice.one_of(&[-300, 300, 7000, -7000]),
                _ => {
                    let left = (begin + course.longest - world.time).max(1);
                    let most = dice.one_of(&[2, 60, 1000]);
                    world.wait(dice.seconds(most.min(left)));
                }
            }
        }
        world.ahead = 0;
        // Life goes on for as long as a message may live.
        for _ in 0..6 {
            let copy = dice.one_of(&messages);
            world.offer(copy).ok();
            world.offer_fresh().ok();
            world.wait(60);
        }
        for _ in 0..3 {
            let fresh = world.offer_fresh();
            if course.is_large {
                assert_eq!(fresh, Ok(()), "after {} s", world.time - BEGIN);
            }
            world.wait(dice.seconds(100));
            let copy = dice.one_of(&messages);
            world.offer(copy).ok();
        }
    }
    // Whenever the clock gets to where it was before: no copy comes in.
    for _ in 0..course.again {
        for copy in &messages {
            world.offer(*copy).ok();
        }
        world.wait(dice.seconds(5000));
    }
}

fn dice(run: u64) -> Dice {
    Dice(run.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[test]
fn wherever_the_clock_is_set_memory_lets_no_copy_in_and_serves_when_it_is_right() {
    let course = Course {
        longest: 3500,
        again: 40,
        is_large: true,
    };
    for run in 1..=150 {
        live(InMemory::new(100_000), &mut dice(run), &course);
    }
}

#[test]
fn wherever_the_clock_is_set_a_file_lets_no_copy_in_and_serves_when_it_is_right() {
    let course = Course {
        longest: 3500,
        again: 1,
        is_large: true,
    };
    for run in 1..=3 {
        live(InFile::new(100_000), &mut dice(run), &course);
    }
}

#[test]
fn wherever_the_clock_is_set_a_store_that_is_full_lets_no_copy_in() {
    let course = |again| Course {
        longest: 100_000,
        again,
        is_large: false,
    };
    for run in 1..=100 {
        live(InMemory::new(12), &mut dice(run), &course(40));
    }
    live(InFile::new(12), &mut dice(1), &course(1));
}
