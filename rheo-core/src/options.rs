//! What an instance is opened with.

use crate::backend::journal::{self, SyncPolicy};
use crate::clock::ClockOption;
use crate::error::{Error, Result};
use crate::group;
use crate::limits;
use crate::telemetry::Telemetry;
use crate::timestamp::Timestamp;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// How an instance is opened (contract, section 3, "Instance").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// A name by which `get` finds the instance from any thread of the process.
    pub name: Option<String>,
    /// The `limit` of a fetch that is not given one; 10 by default.
    pub default_max_demand: usize,
    /// The `lease_ms` of a fetch that is not given one, in milliseconds; 30,000 by default.
    pub default_lease_ms: u64,
    /// The `max_attempts` of a group that is not given one; 5 by default.
    pub default_max_attempts: u32,
    /// The largest payload, in bytes; 16 MiB by default and at most.
    pub max_payload_bytes: usize,
    /// The clock.
    pub clock: ClockOption,
    /// What is told of the instance's work, and to whom; nothing by default.
    pub telemetry: Option<Telemetry>,
    /// How a journal stores what it is given; not for other backends.
    pub journal: JournalOptions,
    /// What the host language keeps with the instance: found wherever the instance is.
    pub host: Option<HostData>,
}

/// Something of a host language's, of which the library knows nothing.
#[derive(Clone)]
pub struct HostData(Arc<dyn Any + Send + Sync>);

impl HostData {
    /// Keeps this.
    pub fn new<T: Any + Send + Sync>(data: Arc<T>) -> HostData {
        HostData(data)
    }

    /// What is kept, if it is of this type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::clone(&self.0).downcast().ok()
    }
}

impl fmt::Debug for HostData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostData")
    }
}

/// The same thing.
impl PartialEq for HostData {
    fn eq(&self, other: &HostData) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for HostData {}

/// How a journal stores what it is given (docs/durability.md). What is missing is as the default says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalOptions {
    /// When what is written is synced; [`SyncPolicy::Always`] by default.
    pub sync: Option<SyncPolicy>,
    /// Whether a settle is answered only when it is synced; false by default: it is written when it is answered, and under
    /// `always` synced within 50 ms.
    pub sync_settles: Option<bool>,
    /// How large a file gets before the next begins, in bytes; 64 MiB by default, 4 KiB to 1 GiB.
    pub segment_bytes: Option<u64>,
}

impl JournalOptions {
    /// The name of one that is set.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let JournalOptions { sync, sync_settles, segment_bytes } = self;
        let given = [
            sync.is_some().then_some("sync"),
            sync_settles.is_some().then_some("sync_settles"),
            segment_bytes.is_some().then_some("segment_bytes"),
        ];
        given.into_iter().flatten().next()
    }

    pub(crate) fn with_defaults(self, is_read_only: bool) -> journal::Settings {
        journal::Settings {
            sync: self.sync.unwrap_or_default(),
            sync_settles: self.sync_settles.unwrap_or(false),
            segment_bytes: self.segment_bytes.unwrap_or(journal::SEGMENT_BYTES),
            is_read_only,
        }
    }
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            name: None,
            default_max_demand: 10,
            default_lease_ms: 30_000,
            default_max_attempts: 5,
            max_payload_bytes: limits::MAX_PAYLOAD_BYTES,
            clock: ClockOption::System,
            telemetry: None,
            journal: JournalOptions::default(),
            host: None,
        }
    }
}

impl OpenOptions {
    /// The defaults.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Named.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> OpenOptions {
        self.name = Some(name.into());
        self
    }

    /// With a manual clock that starts at `start`, or at the machine's time.
    #[must_use]
    pub fn manual_clock(mut self, start: Option<Timestamp>) -> OpenOptions {
        self.clock = ClockOption::Manual { start };
        self
    }

    /// With this sync policy, for a journal.
    #[must_use]
    pub fn sync(mut self, sync: SyncPolicy) -> OpenOptions {
        self.journal.sync = Some(sync);
        self
    }

    /// Telling this hook of its work.
    #[must_use]
    pub fn telemetry(mut self, telemetry: Telemetry) -> OpenOptions {
        self.telemetry = Some(telemetry);
        self
    }

    /// Sets an option by its name, with its value as text: what the languages without this struct use.
    ///
    /// `name`; `default_max_demand`, `default_lease_ms`, `default_max_attempts`, `max_payload_bytes` (numbers);
    /// `clock` (`system` or `manual`); `clock_start` (microseconds since the epoch; makes the clock manual); for a journal
    /// `sync` (`always`, `never`, `interval:MS`), `sync_settles` (`true` or `false`), `segment_bytes` (a number).
    ///
    /// # Errors
    /// `invalid_argument` for an unknown name or a value that does not parse; the ranges are checked at open.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "name" => self.name = Some(value.to_owned()),
            "default_max_demand" => self.default_max_demand = number(key, value)?,
            "default_lease_ms" => self.default_lease_ms = number(key, value)?,
            "default_max_attempts" => self.default_max_attempts = number(key, value)?,
            "max_payload_bytes" => self.max_payload_bytes = number(key, value)?,
            "sync" => self.journal.sync = Some(value.parse()?),
            "sync_settles" => self.journal.sync_settles = Some(boolean(key, value)?),
            "segment_bytes" => self.journal.segment_bytes = Some(number(key, value)?),
            "clock_start" => {
                self.clock = ClockOption::Manual { start: Some(Timestamp::from_micros(number(key, value)?)) };
            }
            "clock" => match (value, self.clock) {
                ("system", _) => self.clock = ClockOption::System,
                ("manual", ClockOption::System) => self.clock = ClockOption::Manual { start: None },
                ("manual", ClockOption::Manual { .. }) => {}
                _ => return Err(Error::invalid(format!("clock is {value:?}; it takes system or manual"))),
            },
            _ => {
                return Err(Error::invalid(format!(
                    "there is no option {key:?}; there are name, default_max_demand, default_lease_ms, \
                     default_max_attempts, max_payload_bytes, clock, clock_start, sync, sync_settles and segment_bytes"
                )));
            }
        }
        Ok(())
    }

    pub(crate) fn check(&self) -> Result<()> {
        if let Some(name) = &self.name {
            limits::check_name("name", name)?;
        }
        check_limit("default_max_demand", self.default_max_demand)?;
        if self.default_max_demand == 0 {
            return Err(Error::invalid("default_max_demand is 0; every fetch would be empty: it takes at least 1"));
        }
        limits::check_duration("default_lease_ms", self.default_lease_ms, 1)?;
        group::check_max_attempts("default_max_attempts", Some(self.default_max_attempts))?;
        if self.max_payload_bytes > limits::MAX_PAYLOAD_BYTES {
            return Err(Error::invalid(format!(
                "max_payload_bytes is {}; it takes at most {}",
                self.max_payload_bytes,
                limits::MAX_PAYLOAD_BYTES
            )));
        }
        if let Some(bytes) = self.journal.segment_bytes
            && !(4 << 10..=1 << 30).contains(&bytes)
        {
            return Err(Error::invalid(format!("segment_bytes is {bytes}; it takes 4 KiB to 1 GiB")));
        }
        if let Some(SyncPolicy::Interval(millis)) = self.journal.sync {
            limits::check_duration("sync interval", millis, 1)?;
        }
        Ok(())
    }
}

/// Checks the limit of a fetch: `what` is the argument's name.
pub(crate) fn check_limit(what: &str, limit: usize) -> Result<()> {
    if limit > limits::MAX_FETCH {
        return Err(Error::invalid(format!("{what} is {limit}; a fetch gives at most {} leases", limits::MAX_FETCH)));
    }
    Ok(())
}

fn boolean(key: &str, value: &str) -> Result<bool> {
    value.parse().map_err(|_| Error::invalid(format!("{key} is {value:?}; it takes true or false")))
}

pub(crate) fn number<N: std::str::FromStr>(key: &str, value: &str) -> Result<N> {
    value.parse().map_err(|_| Error::invalid(format!("{key} is {value:?}; it takes a number")))
}
