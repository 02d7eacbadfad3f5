package soapstone.interop;

import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;

import javax.xml.namespace.QName;
import javax.xml.transform.stream.StreamSource;

import com.sun.net.httpserver.HttpContext;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import jakarta.xml.ws.Endpoint;
import jakarta.xml.ws.soap.SOAPBinding;

/** Services whose WSDL demands security, on the HTTP server of the JDK. */
final class Serving {
    private static final Map<Integer, HttpServer> SERVERS = new HashMap<>();
    private static final Map<String, Endpoint> PUBLISHED = new HashMap<>();
    private static final Map<String, Weighing> WEIGHED = new HashMap<>();
    private static Payloads payloads;

    private Serving() {
    }

    static void publish(Options options) throws Exception {
        URI address = URI.create(options.required("address"));
        HttpContext context = server(address, options).createContext(address.getPath());
        if (options.optional("record") != null) {
            context.getFilters().add(new Recorder(Path.of(options.required("record"))));
        }
        if (options.optional("payloads") != null) {
            WEIGHED.put(address.toString(), new Weighing());
            context.getFilters().add(WEIGHED.get(address.toString()));
        }
        boolean soap12 = options.required("port").contains("Soap12");
        Endpoint endpoint =
            Endpoint.create(soap12 ? SOAPBinding.SOAP12HTTP_BINDING : SOAPBinding.SOAP11HTTP_BINDING, implementation(options));
        endpoint.setMetadata(List.of(new StreamSource(Path.of(options.required("wsdl")).toUri().toString())));
        endpoint.setProperties(Map.of(
            Endpoint.WSDL_SERVICE, QName.valueOf(options.required("service")),
            Endpoint.WSDL_PORT, QName.valueOf(options.required("port"))));
        endpoint.publish(context);
        PUBLISHED.put(address.toString(), endpoint);
    }

    /** {@code withdraw}: serves it no more. */
    static void withdraw(Options options) {
        String address = options.required("address");
        Endpoint endpoint = PUBLISHED.remove(address);
        if (endpoint == null) {
            throw new IllegalArgumentException(address + ": nothing is served there");
        }
        WEIGHED.remove(address);
        endpoint.stop();
    }

    /** {@code weighed}: requests of a sample service and the octets of all messages since this was asked the last time. */
    static String weighed(Options options) {
        Weighing weighing = WEIGHED.get(options.required("address"));
        if (weighing == null) {
            throw new IllegalArgumentException(options.required("address") + ": nothing is weighed there");
        }
        return weighing.line();
    }

    private static Object implementation(Options options) throws Exception {
        if (options.is("whole")) {
            return new Enclosing();
        }
        if (options.optional("payloads") == null) {
            return new Echoing();
        }
        if (payloads == null) {
            payloads = Payloads.in(Path.of(options.required("payloads")));
        }
        String service = QName.valueOf(options.required("service")).getLocalPart();
        return Samples.named(service, payloads, options.optional("controller"), Weighing::query);
    }

    /** The server of a port, which listens from now on. */
    private static HttpServer server(URI address, Options options) throws Exception {
        HttpServer server = SERVERS.get(address.getPort());
        if (server == null) {
            InetSocketAddress at = new InetSocketAddress(address.getHost(), address.getPort());
            if (address.getScheme().equals("https")) {
                HttpsServer secure = HttpsServer.create(at, 0);
                secure.setHttpsConfigurator(new HttpsConfigurator(Tls.with(options.required("tls"))));
                server = secure;
            } else {
                server = HttpServer.create(at, 0);
            }
            server.setExecutor(Executors.newCachedThreadPool());
            server.start();
            SERVERS.put(address.getPort(), server);
        }
        return server;
    }
}
