package soapstone.interop;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import javax.xml.namespace.QName;

import jakarta.xml.ws.BindingProvider;
import jakarta.xml.ws.Service;

import org.apache.cxf.Bus;
import org.apache.cxf.BusFactory;
import org.apache.cxf.endpoint.Client;
import org.apache.cxf.endpoint.Endpoint;
import org.apache.cxf.frontend.ClientProxy;
import org.apache.cxf.message.Message;
import org.apache.cxf.transport.http.HTTPConduitConfigurer;
import org.apache.cxf.ws.security.SecurityConstants;
import org.apache.cxf.ws.security.trust.STSClient;

/**
 * The clients of one service, made as they are needed and kept: proxies on a generated interface, each with connections
 * and, where the policy asks for one, a conversation of its own.
 *
 * <p>They share a bus that nobody else uses, so that a service that is deployed anew meets clients that know nothing.
 */
final class Clients implements AutoCloseable {
    private final Options options;
    private final Class<?> port;
    private final Bus bus = BusFactory.newInstance().createBus();
    private final Weighing weighing = new Weighing();
    private final Map<String, Long> weights = new HashMap<>();
    private final List<Object> proxies = new ArrayList<>();
    private Service service;

    Clients(Options options, Class<?> port) {
        this.options = options;
        this.port = port;
        HTTPConduitConfigurer settling = (name, address, conduit) -> Calling.settle(conduit, options);
        bus.setExtension(settling, HTTPConduitConfigurer.class);
        weighing.listen(bus);
    }

    /** So many clients; those among them that were made just now have made a call before, unless the first one counts. */
    List<Object> first(int count, Operation<?, ?> operation, boolean firstCallCounts) throws Exception {
        int known = proxies.size();
        while (proxies.size() < count) {
            proxies.add(proxy());
        }
        if (!firstCallCounts && known < count) {
            Timing.introduce(proxies.subList(known, count), operation);
        }
        return proxies.subList(0, count);
    }

    /** Counts the octets of all calls of these clients. */
    Weighing weighing() {
        return weighing;
    }

    /** Octets of request and answer of an operation with so many items, by the last call of it that was alone; or nothing, if none was. */
    Map<String, Long> weights() {
        return weights;
    }

    /** Forgets the security contexts of all clients; how many there were. As nobody waits for a Cancel, the service keeps its side of them. */
    int part() {
        int parted = 0;
        for (Object proxy : proxies) {
            Endpoint endpoint = ClientProxy.getClient(proxy).getEndpoint();
            endpoint.remove(SecurityConstants.TOKEN_ID);
            if (endpoint.remove(SecurityConstants.TOKEN) != null) {
                parted++;
            }
        }
        return parted;
    }

    private Object proxy() throws Exception {
        Bus before = BusFactory.getAndSetThreadDefaultBus(bus);
        try {
            if (service == null) {
                service = Service.create(Path.of(options.required("wsdl")).toUri().toURL(),
                    QName.valueOf(options.required("service")));
            }
            Object proxy = service.getPort(QName.valueOf(options.required("port")), port);
            Client client = ClientProxy.getClient(proxy);
            STSClient tokens = new STSClient(client.getBus());
            // The lab's client lives as long as the service; nobody waits for a Cancel.
            Map<String, Object> context = ((BindingProvider) proxy).getRequestContext();
            context.putAll(Properties.of(options));
            context.put(SecurityConstants.STS_CLIENT, tokens);
            context.put(SecurityConstants.STS_TOKEN_DO_CANCEL, false);
            context.put(Message.ENDPOINT_ADDRESS, options.required("address"));
            // Other threads than this one see the same context.
            context.put("thread.local.request.context", false);
            return proxy;
        } finally {
            BusFactory.setThreadDefaultBus(before);
        }
    }

    @Override
    public void close() {
        proxies.forEach(proxy -> ClientProxy.getClient(proxy).destroy());
        bus.shutdown(true);
    }
}
