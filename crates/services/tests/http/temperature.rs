//! `getTemperature` with a controller that is slow, forgets, or is not there.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::support::Http;
use http::StatusCode;
use soapstone_services::{
    Config, Controller, ControllerLocation, Device, Patience, Running, Service, Services,
    SoapVersion, requests, responses,
};
use tokio::net::UdpSocket;

const LOOPBACK: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

/// Services that ask a controller 4 times, 50 ms each.
async fn reading(controller: SocketAddr) -> Running {
    let config = Config {
        controller: ControllerLocation::At(controller),
        sensor_patience: Patience {
            answer: Duration::from_millis(50),
            requests: 4,
        },
        ..Config::default()
    };
    Services::start(config).await.unwrap()
}

#[tokio::test]
async fn the_temperature_is_what_the_device_says_and_comes_when_it_has_said_it() {
    let device = Device {
        temperature: -1_205,
        delay: Duration::from_millis(30),
        ..Device::default()
    };
    let controller = Controller::start(LOOPBACK.into(), device).await.unwrap();
    let services = reading(controller.address()).await;
    let url = services.url(Service::Temperature);
    for version in SoapVersion::ALL {
        let begun = Instant::now();
        let request = requests::get_temperature(version);
        let answer = Http::one().call(version, &url, request).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        assert_eq!(answer.body, responses::temperature(version, -1_205));
        assert!(begun.elapsed() >= Duration::from_millis(30));
    }
    services.shutdown().await;
}

#[tokio::test]
async fn a_controller_that_stays_away_is_told_in_a_fault_of_the_receiver_in_both_versions() {
    let silent = UdpSocket::bind(SocketAddr::from(LOOPBACK)).await.unwrap();
    let services = reading(silent.local_addr().unwrap()).await;
    let url = services.url(Service::Temperature);
    for version in SoapVersion::ALL {
        let code = match version {
            SoapVersion::Soap11 => "<faultcode>soap:Server</faultcode>",
            SoapVersion::Soap12 => "<soap:Code><soap:Value>soap:Receiver</soap:Value></soap:Code>",
        };
        let request = requests::get_temperature(version);
        let answer = Http::one().call(version, &url, request).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        for part in [
            code,
            "answered none of 4 requests within 2",
            "try again later",
        ] {
            assert!(answer.text().contains(part), "{}", answer.text());
        }
    }
    services.shutdown().await;
}

#[tokio::test]
async fn many_readings_at_once_each_get_their_answer_in_spite_of_loss() {
    let device = Device {
        loss: 0.2,
        delay: Duration::from_millis(2),
        ..Device::default()
    };
    let controller = Controller::start(LOOPBACK.into(), device).await.unwrap();
    let config = Config {
        controller: ControllerLocation::At(controller.address()),
        sensor_patience: Patience {
            answer: Duration::from_millis(50),
            requests: 40,
        },
        ..Config::default()
    };
    let services = Services::start(config).await.unwrap();
    let url = services.url(Service::Temperature);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let url = url.clone();
        calls.spawn(async move {
            let version = SoapVersion::Soap12;
            let request = requests::get_temperature(version);
            Http::one().call(version, &url, request).await.body
        });
    }
    for body in calls.join_all().await {
        assert_eq!(body, responses::temperature(SoapVersion::Soap12, 2_150));
    }
    services.shutdown().await;
}

#[tokio::test]
async fn a_parameter_that_the_contract_does_not_have_is_refused() {
    let services = Services::start(Config::default()).await.unwrap();
    let version = SoapVersion::Soap12;
    let request = requests::get_temperature(version)
        .replace("</getTemperature>", "<sensor>1</sensor></getTemperature>");
    let answer = Http::one()
        .call(version, &services.url(Service::Temperature), request)
        .await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert!(
        answer
            .text()
            .contains("expected nothing in getTemperature, found"),
        "{}",
        answer.text()
    );
    services.shutdown().await;
}
