package soapstone.interop;

import java.net.URI;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

import javax.xml.namespace.QName;

import jakarta.xml.ws.soap.SOAPBinding;

import org.apache.cxf.Bus;
import org.apache.cxf.BusFactory;
import org.apache.cxf.jaxws.EndpointImpl;
import org.apache.cxf.message.Message;
import org.apache.cxf.phase.PhaseInterceptorChain;

/**
 * Services whose WSDL demands security: what they open they pass on to a plain service, whose answer they secure, or they
 * answer it themselves.
 */
final class Serving {
    private static final Map<String, EndpointImpl> PUBLISHED = new HashMap<>();
    private static Recorder recorder;
    private static Payloads payloads;

    private Serving() {
    }

    static void publish(Options options) throws Exception {
        Bus bus = BusFactory.getDefaultBus();
        record(bus, options.optional("record"));
        Tls.serve(bus, URI.create(options.required("address")), options);
        EndpointImpl endpoint = new EndpointImpl(bus, implementation(options));
        endpoint.setWsdlLocation(options.required("wsdl"));
        endpoint.setServiceName(QName.valueOf(options.required("service")));
        endpoint.setEndpointName(QName.valueOf(options.required("port")));
        if (options.required("port").contains("Soap12")) {
            endpoint.setBindingUri(SOAPBinding.SOAP12HTTP_BINDING);
        }
        Map<String, Object> properties = new HashMap<>(Properties.of(options));
        properties.putAll(Tickets.of(options));
        endpoint.setProperties(properties);
        endpoint.publish(options.required("address"));
        PUBLISHED.put(options.required("address"), endpoint);
    }

    /** Serves a node that passes messages on. */
    static void pass(Options options) {
        PUBLISHED.put(options.required("address"), Hop.publish(options));
    }

    static void withdraw(Options options) {
        EndpointImpl endpoint = PUBLISHED.remove(options.required("address"));
        if (endpoint == null) {
            throw new IllegalArgumentException(options.required("address") + ": nothing is served there");
        }
        endpoint.stop();
    }

    private static Object implementation(Options options) throws Exception {
        if (options.is("whole")) {
            return new Enclosing();
        }
        if (options.optional("payloads") == null) {
            return new Forwarding(options.required("backend"));
        }
        if (payloads == null) {
            payloads = Payloads.in(Path.of(options.required("payloads")));
        }
        return Samples.named(QName.valueOf(options.required("service")).getLocalPart(), payloads, options.optional("controller"), Serving::query);
    }

    private static String query() {
        Object query = PhaseInterceptorChain.getCurrentMessage().get(Message.QUERY_STRING);
        return query == null ? null : query.toString();
    }

    private static void record(Bus bus, String folder) {
        if (recorder == null && folder != null) {
            recorder = new Recorder(Path.of(folder));
            recorder.listen(bus);
        }
    }
}
