-- wrk posts one SOAP 1.1 Echo of about 1 kB and reports what it counted as a line of JSON.
local text = string.rep("0123456789abcdef", 48)

wrk.method = "POST"
wrk.headers["Content-Type"] = "text/xml; charset=utf-8"
wrk.headers["SOAPAction"] = '"urn:soapstone:services:echo:Echo"'
wrk.body = '<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>'
  .. '<e:Echo xmlns:e="urn:soapstone:services:echo"><e:text>' .. text .. '</e:text></e:Echo></soap:Body></soap:Envelope>'

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format('{"requests":%d,"seconds":%.6f,"errors":%d,"median_us":%.1f,"p99_us":%.1f,' ..
    '"kinds":{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}}\n',
    summary.requests, summary.duration / 1e6,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50), latency:percentile(99),
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
