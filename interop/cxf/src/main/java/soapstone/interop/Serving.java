package soapstone.interop;

import java.nio.file.Path;
import java.util.HashMap;

import javax.xml.namespace.QName;

import jakarta.xml.ws.soap.SOAPBinding;

import org.apache.cxf.Bus;
import org.apache.cxf.BusFactory;
import org.apache.cxf.jaxws.EndpointImpl;

/** Services whose WSDL demands security: what they open they pass on to a plain service, and they secure its answer. */
final class Serving {
    private static Recorder recorder;

    private Serving() {
    }

    static void publish(Options options) throws Exception {
        Bus bus = BusFactory.getDefaultBus();
        record(bus, options.optional("record"));
        Tls.serve(bus, options);
        EndpointImpl endpoint = new EndpointImpl(bus, new Forwarding(options.required("backend")));
        endpoint.setWsdlLocation(options.required("wsdl"));
        endpoint.setServiceName(QName.valueOf(options.required("service")));
        endpoint.setEndpointName(QName.valueOf(options.required("port")));
        if (options.required("port").contains("Soap12")) {
            endpoint.setBindingUri(SOAPBinding.SOAP12HTTP_BINDING);
        }
        endpoint.setProperties(new HashMap<>(Properties.of(options)));
        endpoint.publish(options.required("address"));
    }

    private static void record(Bus bus, String folder) {
        if (recorder == null && folder != null) {
            recorder = new Recorder(Path.of(folder));
            recorder.listen(bus);
        }
    }
}
