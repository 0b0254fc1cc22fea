//! What may be repeated, and when, as a gRPC service config says it: tonic itself reads none.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tonic::Code;

use crate::failure::code_named;

/// The service config of all clients of recallmesh.
const SERVICE_CONFIG: &str = include_str!("../gen/service_config.json");
/// Tokens are counted in thousandths, of which gRPC keeps as many digits.
const TOKEN: i64 = 1000;

/// What may be repeated, and when. Clones share one count of failures.
#[derive(Clone, Debug)]
pub struct Policy {
    backoffs: Arc<HashMap<String, Backoff>>,
    throttle: Option<Arc<Throttle>>,
}

/// How a method is repeated.
#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    /// How often it is tried at most, the first time included.
    pub attempts: u32,
    /// The pause before the second attempt; each is spread by a fifth, so that callers do not come back all at once.
    pub initial: Duration,
    /// The longest pause.
    pub longest: Duration,
    /// What each pause is multiplied by.
    pub multiplier: f64,
    /// After which codes.
    pub codes: Vec<Code>,
}

/// What keeps repeats from a server that fails most calls: a bucket that failures empty and successes fill.
#[derive(Debug)]
struct Throttle {
    most: i64,
    ratio: i64,
    tokens: AtomicI64,
}

impl Default for Policy {
    /// The policy of all clients of recallmesh.
    ///
    /// # Panics
    ///
    /// Never: the file is read by a test.
    fn default() -> Self {
        Self::from_service_config(SERVICE_CONFIG).expect("the generated service config is one")
    }
}

impl Policy {
    /// Repeat nothing.
    #[must_use]
    pub fn none() -> Self {
        Self { backoffs: Arc::default(), throttle: None }
    }

    /// Read the retry policies of a service config; what is about balancing and health is left out.
    ///
    /// # Errors
    ///
    /// It is no JSON, or a policy lacks something.
    pub fn from_service_config(text: &str) -> Result<Self, InvalidPolicy> {
        let config: Value = serde_json::from_str(text).map_err(|error| InvalidPolicy(error.to_string()))?;
        let mut backoffs = HashMap::new();
        for method in config["methodConfig"].as_array().into_iter().flatten() {
            if method["retryPolicy"].is_null() {
                continue;
            }
            let backoff = Backoff::from_json(&method["retryPolicy"])?;
            for name in method["name"].as_array().into_iter().flatten() {
                let service = name["service"].as_str().unwrap_or_default();
                let method = name["method"].as_str().unwrap_or_default();
                backoffs.insert(format!("/{service}/{method}"), backoff.clone());
            }
        }
        let throttle = Throttle::from_json(&config["retryThrottling"]).map(Arc::new);
        Ok(Self { backoffs: Arc::new(backoffs), throttle })
    }

    /// How a method (`/recallmesh.v1.RecallService/Recall`) is repeated, or that it is not.
    #[must_use]
    pub fn backoff(&self, path: &str) -> Option<&Backoff> {
        let service = path.rfind('/').map_or(path, |end| &path[..=end]);
        self.backoffs.get(path).or_else(|| self.backoffs.get(service)).or_else(|| self.backoffs.get("//"))
    }

    /// Take note that a call succeeded.
    pub(crate) fn succeeded(&self) {
        if let Some(throttle) = &self.throttle {
            throttle.add(throttle.ratio);
        }
    }

    /// Take note that a call failed, and tell whether it may be repeated.
    pub(crate) fn failed(&self) -> bool {
        self.throttle.as_ref().is_none_or(|throttle| throttle.add(-TOKEN) > throttle.most / 2)
    }
}

impl Backoff {
    fn from_json(policy: &Value) -> Result<Self, InvalidPolicy> {
        let missing = |field: &str| InvalidPolicy(format!("retryPolicy.{field} is missing or not what it should be"));
        let pause = |field: &str| {
            let text = policy[field].as_str().and_then(|text| text.strip_suffix('s'));
            let seconds = text.and_then(|text| text.parse().ok());
            seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).ok_or_else(|| missing(field))
        };
        let attempts = policy["maxAttempts"].as_u64().and_then(|number| u32::try_from(number).ok());
        let names = policy["retryableStatusCodes"].as_array().ok_or_else(|| missing("retryableStatusCodes"))?;
        let codes = names
            .iter()
            .map(|name| code_named(name.as_str()?))
            .collect::<Option<_>>()
            .ok_or_else(|| missing("retryableStatusCodes"))?;
        Ok(Self {
            // gRPC's clients make five attempts at most, whatever the policy says.
            attempts: attempts.ok_or_else(|| missing("maxAttempts"))?.min(5),
            initial: pause("initialBackoff")?,
            longest: pause("maxBackoff")?,
            multiplier: policy["backoffMultiplier"].as_f64().ok_or_else(|| missing("backoffMultiplier"))?,
            codes,
        })
    }

    /// The pause after so many attempts (from 1), for a `spread` in [0, 1).
    #[must_use]
    pub fn pause(&self, attempts: u32, spread: f64) -> Duration {
        let grown = self.initial.as_secs_f64() * self.multiplier.powi(attempts.saturating_sub(1).cast_signed());
        Duration::from_secs_f64(grown.min(self.longest.as_secs_f64()) * (0.8 + 0.4 * spread))
    }
}

impl Throttle {
    fn from_json(throttling: &Value) -> Option<Self> {
        let most = throttling["maxTokens"].as_i64()? * TOKEN;
        #[allow(clippy::cast_possible_truncation, reason = "a ratio is a small number")]
        let ratio = (throttling["tokenRatio"].as_f64()? * 1000.0) as i64;
        Some(Self { most, ratio, tokens: AtomicI64::new(most) })
    }

    /// Add tokens, within the bucket, and return how many there are.
    fn add(&self, tokens: i64) -> i64 {
        let within = |before: i64| (before + tokens).clamp(0, self.most);
        let before = self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |before| Some(within(before)));
        within(before.unwrap_or_else(|before| before))
    }
}

/// What is wrong with a service config.
#[derive(Debug)]
pub struct InvalidPolicy(String);

impl fmt::Display for InvalidPolicy {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "no service config: {}", self.0)
    }
}

impl Error for InvalidPolicy {}
