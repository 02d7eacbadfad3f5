package soapstone.interop;

import java.util.List;

import org.apache.juddi.v3.client.config.UDDIClerk;
import org.apache.juddi.v3.client.config.UDDIClient;
import org.apache.juddi.v3.client.transport.Transport;
import org.uddi.api_v3.AccessPoint;
import org.uddi.api_v3.BindingTemplate;
import org.uddi.api_v3.BindingTemplates;
import org.uddi.api_v3.BusinessDetail;
import org.uddi.api_v3.BusinessEntity;
import org.uddi.api_v3.BusinessService;
import org.uddi.api_v3.BusinessServices;
import org.uddi.api_v3.DeleteBusiness;
import org.uddi.api_v3.Description;
import org.uddi.api_v3.FindQualifiers;
import org.uddi.api_v3.FindService;
import org.uddi.api_v3.GetAuthToken;
import org.uddi.api_v3.GetServiceDetail;
import org.uddi.api_v3.InstanceDetails;
import org.uddi.api_v3.Name;
import org.uddi.api_v3.OverviewDoc;
import org.uddi.api_v3.OverviewURL;
import org.uddi.api_v3.SaveBusiness;
import org.uddi.api_v3.ServiceInfo;
import org.uddi.api_v3.ServiceList;
import org.uddi.api_v3.TModelInstanceInfo;
import org.uddi.v3_service.UDDIInquiryPortType;

/** jUDDI's client, as its file says where registries are. */
final class JuddiClient {
    private static final String NODE = "default";
    private static final String SOAP = "uddi:uddi.org:protocol:soap";

    private final Transport transport;
    private final UDDIClerk clerk;

    JuddiClient(String file) throws Exception {
        UDDIClient client = new UDDIClient(file);
        client.start();
        transport = client.getTransport(NODE);
        clerk = client.getClerk("publisher");
    }

    void run(Options options) throws Exception {
        switch (options.word(0, "what to do")) {
            case "publish" -> publish(options);
            case "find" -> find(options.required("service"), options.is("approximate"));
            case "delete" -> delete(options.required("business"));
            default -> throw new IllegalArgumentException("expected serve, publish, find or delete, found another word");
        }
    }

    private String token() throws Exception {
        GetAuthToken asked = new GetAuthToken();
        asked.setUserID("publisher");
        asked.setCred("publisher");
        return transport.getUDDISecurityService().getAuthToken(asked).getAuthInfo();
    }

    /** A business with a service in it: what jUDDI's clerk sends for a service of SOAP. */
    private void publish(Options options) throws Exception {
        BindingTemplate binding = new BindingTemplate();
        AccessPoint point = new AccessPoint();
        point.setUseType("endPoint");
        point.setValue(options.required("access-point"));
        binding.setAccessPoint(point);
        UDDIClient.addSOAPtModels(binding);
        for (TModelInstanceInfo instance : binding.getTModelInstanceDetails().getTModelInstanceInfo()) {
            if (instance.getTModelKey().equals(SOAP)) {
                instance.setInstanceDetails(overview(options.required("wsdl")));
            }
        }
        BusinessService service = new BusinessService();
        service.getName().add(new Name(options.required("service"), "en"));
        service.getDescription().add(new Description("published by jUDDI's client", "en"));
        BindingTemplates bindings = new BindingTemplates();
        bindings.getBindingTemplate().add(binding);
        service.setBindingTemplates(bindings);
        BusinessEntity business = new BusinessEntity();
        business.getName().add(new Name("A business of jUDDI's client", "en"));
        BusinessServices services = new BusinessServices();
        services.getBusinessService().add(service);
        business.setBusinessServices(services);
        SaveBusiness saving = new SaveBusiness();
        saving.setAuthInfo(token());
        saving.getBusinessEntity().add(business);
        BusinessDetail saved = transport.getUDDIPublishService().saveBusiness(saving);
        String key = saved.getBusinessEntity().get(0).getBusinessKey();
        // What a registry gives back is what it has.
        if (clerk.getBusinessDetail(key) == null) {
            throw new IllegalStateException("the clerk does not find " + key);
        }
        System.out.println(key);
    }

    private static InstanceDetails overview(String wsdl) {
        OverviewURL url = new OverviewURL();
        url.setUseType("wsdlInterface");
        url.setValue(wsdl);
        OverviewDoc document = new OverviewDoc();
        document.setOverviewURL(url);
        InstanceDetails details = new InstanceDetails();
        details.getOverviewDoc().add(document);
        return details;
    }

    private void find(String name, boolean approximate) throws Exception {
        UDDIInquiryPortType inquiry = transport.getUDDIInquiryService();
        FindService wanted = new FindService();
        wanted.getName().add(new Name(name, null));
        if (approximate) {
            FindQualifiers qualifiers = new FindQualifiers();
            qualifiers.getFindQualifier().add("approximateMatch");
            wanted.setFindQualifiers(qualifiers);
        }
        ServiceList list = inquiry.findService(wanted);
        List<ServiceInfo> found = list.getServiceInfos() == null ? List.of() : list.getServiceInfos().getServiceInfo();
        if (found.isEmpty()) {
            return;
        }
        GetServiceDetail detail = new GetServiceDetail();
        found.forEach(info -> detail.getServiceKey().add(info.getServiceKey()));
        for (BusinessService service : inquiry.getServiceDetail(detail).getBusinessService()) {
            for (BindingTemplate binding : service.getBindingTemplates().getBindingTemplate()) {
                System.out.println(binding.getAccessPoint().getValue());
                System.out.println(wsdl(binding));
            }
        }
    }

    private static String wsdl(BindingTemplate binding) {
        for (TModelInstanceInfo instance : binding.getTModelInstanceDetails().getTModelInstanceInfo()) {
            InstanceDetails details = instance.getInstanceDetails();
            if (details != null && !details.getOverviewDoc().isEmpty()) {
                return details.getOverviewDoc().get(0).getOverviewURL().getValue();
            }
        }
        return "";
    }

    private void delete(String key) throws Exception {
        DeleteBusiness deleting = new DeleteBusiness();
        deleting.setAuthInfo(token());
        deleting.getBusinessKey().add(key);
        transport.getUDDIPublishService().deleteBusiness(deleting);
    }
}
