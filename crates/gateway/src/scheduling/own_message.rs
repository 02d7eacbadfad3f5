//! Work on messages of the gateway's own to a partner, who is asked for a context or an assertion.
//!
//! The rule kept here: it has the workers and the stores of the endpoint as messages of clients do,
//! and its answers are refused for want of no worker either. What was not done is told as an errand
//! that came to nothing.

use std::sync::Arc;

use super::class::WorkClass;
use super::endpoint::OutboundEndpoint;
use super::executor::Executor;
use super::task::{Desk, Task};
use super::workers::NotDone;
use crate::wire::errand::Undone;

/// Which message of an errand work is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnMessage {
    Question,
    Answer,
}

/// Has the work done.
pub(crate) async fn work_on_own_message<T, E, F>(
    executor: &Arc<Executor>,
    endpoint: &OutboundEndpoint,
    about: OwnMessage,
    work: impl FnOnce(Desk) -> F,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<Undone> + Send + 'static,
    F: Future<Output = Result<T, E>> + Send + 'static,
{
    let stores = Some(Arc::clone(&endpoint.stores));
    let task = Task::new(WorkClass::Blocking, stores, work);
    let task = match about {
        OwnMessage::Question => task,
        OwnMessage::Answer => task.let_in_before(),
    };
    match task.perform(executor, ()).await.0 {
        Ok(result) => result,
        Err(NotDone::Full) => Err(Undone::Busy.into()),
        Err(NotDone::Failed) => Err(Undone::Unfinished.into()),
    }
}
