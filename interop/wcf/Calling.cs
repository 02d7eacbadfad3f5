using System;
using System.Linq;
using System.ServiceModel;
using System.ServiceModel.Description;

namespace Soapstone.Interop {
    /// <summary>A client of a service.</summary>
    static class Calling {
        public static string Call(Options options) {
            var sum = options.Or("sum", null);
            if (sum == null) {
                return Through<IEcho>(options, service => service.Echo(options["text"]));
            }
            var numbers = sum.Split(',').Select(int.Parse).ToArray();
            return Through<ISum>(options, service => service.Sum(numbers[0], numbers[1]).ToString());
        }

        /// <summary>Calls over one channel; the last answer.</summary>
        static string Through<Contract>(Options options, Func<Contract, string> ask) {
            var service = Factory<Contract>(options).CreateChannel();
            try {
                string answer = null;
                for (var call = 0; call < int.Parse(options.Or("calls", "1")); call++) {
                    answer = ask(service);
                }
                ((IClientChannel) service).Close();
                return answer;
            } catch {
                ((IClientChannel) service).Abort();
                throw;
            }
        }

        /// <summary>What makes clients of an address.</summary>
        public static ChannelFactory<Contract> Factory<Contract>(Options options) {
            var identity = new X509CertificateEndpointIdentity(Certificates.Theirs(options));
            var address = new EndpointAddress(new Uri(options["address"]), identity);
            var factory = new ChannelFactory<Contract>(Bindings.Of(options), address);
            var credentials = new LenientClientCredentials();
            credentials.ClientCertificate.Certificate = Certificates.Ours(options);
            credentials.ServiceCertificate.DefaultCertificate = Certificates.Theirs(options);
            Certificates.Trust(credentials.ServiceCertificate.Authentication, options);
            credentials.UserName.UserName = options.Or("user", null);
            credentials.UserName.Password = options.Or("password", null);
            factory.Endpoint.Behaviors.Remove(typeof(ClientCredentials));
            factory.Endpoint.Behaviors.Add(credentials);
            return factory;
        }
    }
}
