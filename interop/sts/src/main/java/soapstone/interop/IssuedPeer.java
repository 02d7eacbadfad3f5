package soapstone.interop;

import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import javax.xml.namespace.QName;
import javax.xml.stream.XMLStreamException;
import javax.xml.transform.Source;
import javax.xml.transform.dom.DOMSource;
import javax.xml.ws.Provider;
import javax.xml.ws.Service;
import javax.xml.ws.ServiceMode;
import javax.xml.ws.WebServiceException;
import javax.xml.ws.WebServiceProvider;

import org.apache.cxf.BusFactory;
import org.apache.cxf.jaxws.EndpointImpl;
import org.apache.cxf.staxutils.StaxUtils;
import org.apache.cxf.ws.security.SecurityConstants;

/**
 * Services of Apache CXF on a loopback port whose policies want assertions, until its input ends. Each answers with what
 * it was sent.
 *
 * <pre>
 * --port N --folder FOLDER --names NAME,NAME --service NAME --endpoint NAME OPTIONS
 *                                  serves FOLDER/NAME.wsdl at http://127.0.0.1:N/NAME
 * [--secure-port N --secure-names NAME,NAME]
 *                                  and at https://127.0.0.1:N/NAME
 * </pre>
 *
 * The options are those of {@link Properties} and {@link Tls}.
 */
public final class IssuedPeer {
    private static final String HMAC = "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256";

    private IssuedPeer() {
    }

    /** Answers with the request. */
    @WebServiceProvider
    @ServiceMode(Service.Mode.PAYLOAD)
    public static final class Echo implements Provider<Source> {
        @Override
        public Source invoke(Source request) {
            try {
                return new DOMSource(StaxUtils.read(request));
            } catch (XMLStreamException e) {
                throw new WebServiceException(e);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        Options options = new Options(List.of(arguments));
        publish(options, "http://127.0.0.1:" + options.required("port"), options.required("names"));
        if (options.optional("secure-names") != null) {
            String secure = "https://127.0.0.1:" + options.required("secure-port");
            Tls.serve(BusFactory.getDefaultBus(), URI.create(secure), options);
            publish(options, secure, options.required("secure-names"));
        }
        System.out.println("ready");
        while (System.in.read() >= 0) {
            continue;
        }
        System.exit(0);
    }

    private static void publish(Options options, String address, String names) {
        Map<String, Object> properties = new HashMap<>(Properties.of(options));
        properties.put(SecurityConstants.SYMMETRIC_SIGNATURE_ALGORITHM, HMAC);
        for (String name : names.split(",")) {
            EndpointImpl endpoint = new EndpointImpl(BusFactory.getDefaultBus(), new Echo());
            endpoint.setWsdlLocation(options.required("folder") + "/" + name + ".wsdl");
            endpoint.setServiceName(QName.valueOf(options.required("service")));
            endpoint.setEndpointName(QName.valueOf(options.required("endpoint")));
            endpoint.setProperties(new HashMap<>(properties));
            endpoint.publish(address + "/" + name);
        }
    }
}
