//! Where the controller is: the address of one, or one of our own.
//!
//! The rule kept here: a controller of our own is started and stopped with the services, and nobody
//! else is told of it.

use std::net::SocketAddr;

use super::{Controller, Device};
use crate::start_error::StartError;

/// Where the controller of the sensor is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ControllerLocation {
    /// One that is started with the services, on a free loopback port.
    Own(Device),
    /// One that runs elsewhere.
    At(SocketAddr),
}

impl Default for ControllerLocation {
    /// One of our own, without delay and loss.
    fn default() -> Self {
        Self::Own(Device::default())
    }
}

impl ControllerLocation {
    /// Its address, and the controller that must be kept for as long as it is to answer there.
    pub(crate) async fn open(self) -> Result<(SocketAddr, Option<Controller>), StartError> {
        match self {
            Self::At(address) => Ok((address, None)),
            Self::Own(device) => {
                let listen = SocketAddr::from(([127, 0, 0, 1], 0));
                let controller = Controller::start(listen, device).await.map_err(|source| {
                    StartError::Listen {
                        address: listen,
                        source,
                    }
                })?;
                Ok((controller.address(), Some(controller)))
            }
        }
    }
}
