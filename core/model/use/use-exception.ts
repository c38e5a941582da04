/**
 * Objects that are used though none names them, and why: what a controller reads from the API, or
 * makes again.
 *
 * What must stay true: what is not in here, and is named by nothing, is called unused.
 */
import type { GroupKind } from '../rule/group-kind.ts'
import { BINDINGS } from './binding-use.ts'
import type { UseException } from './use.ts'
import { ACCOUNT, CONFIG_MAP, SECRET } from './use-row.ts'

function except(
  { group, kind }: GroupKind,
  [namespace, name, mark = '']: readonly [string, string, string?],
  because: string,
): UseException {
  return { group, kind, namespace, name, mark, because }
}

const BY_API = 'its controller reads it from the API, and none names it'

export const USE_EXCEPTIONS: readonly UseException[] = [
  except(CONFIG_MAP, ['*', 'kube-root-ca.crt'], 'kube-controller-manager makes it again'),
  except(CONFIG_MAP, ['*', 'openshift-service-ca.crt'], 'its controller makes it again'),
  except(CONFIG_MAP, ['*', 'istio-ca-root-cert'], 'its controller makes it again'),
  ...[
    ...['extension-apiserver-authentication', 'kubeadm-config', 'kubelet-config*', 'coredns*'],
    ...['kube-proxy*', 'kube-apiserver-legacy-service-account-token-tracking', 'aws-auth'],
    ...['cluster-autoscaler-status', 'cluster-config*', 'ingress-gce-lock'],
  ].map((name) => except(CONFIG_MAP, ['kube-system', name], BY_API)),
  except(CONFIG_MAP, ['kube-public', 'cluster-info'], 'who joins the cluster reads it'),
  except(CONFIG_MAP, ['*', '*', 'control-plane.alpha.kubernetes.io/leader'], 'it says who leads'),
  except(CONFIG_MAP, ['*', 'ingress-controller-leader*'], 'it says who leads'),
  except(CONFIG_MAP, ['*', '*', 'grafana_dashboard'], 'it is selected by its label'),
  // Named by an argument of a container, or by its code alone.
  ...['ingress-nginx-controller', 'nginx-configuration', 'tcp-services', 'udp-services'].map(
    (name) => except(CONFIG_MAP, ['*', name], BY_API),
  ),
  except(CONFIG_MAP, ['*', 'workflow-controller-configmap'], BY_API),
  ...['knative-*', 'tekton-*'].map((namespace) => except(CONFIG_MAP, [namespace, '*'], BY_API)),
  ...[CONFIG_MAP, SECRET].map((kind) => except(kind, ['*', 'argocd-*'], 'Argo CD reads it')),
  ...['istio-ca-secret', 'velero-repo-credentials', 'kubernetes-dashboard-*'].map((name) =>
    except(SECRET, ['*', name], BY_API),
  ),
  except(SECRET, ['*', 'azure-storage-account-*-secret'], 'drivers of Azure find it by its name'),
  except(ACCOUNT, ['*', 'default'], 'kube-controller-manager makes it again'),
  except(ACCOUNT, ['kube-system', '*'], 'controllers of the control plane call the API as it'),
  except(SECRET, ['*', 'sh.helm.release.v1.*'], 'Helm keeps a release in it'),
  except(CONFIG_MAP, ['*', 'sh.helm.release.v1.*'], 'Helm keeps a release in it'),
  except(SECRET, ['*', '*', 'kubernetes.io/service-account.name'], 'it is the token of an account'),
  except(SECRET, ['kube-system', 'bootstrap-token-*'], 'nodes join with it'),
  ...BINDINGS.flatMap((kind) =>
    ['system:*', 'kubeadm:*'].map((name) =>
      except(kind, ['*', name], 'the control plane makes it'),
    ),
  ),
  ...BINDINGS.map((kind) => {
    return except(kind, ['*', '*', 'kubernetes.io/bootstrapping'], 'the API server makes it again')
  }),
  except(SECRET, ['*', '*', 'cert-manager.io/certificate-name'], 'cert-manager renews it'),
  except(SECRET, ['*', '*', 'cert-manager.io/allow-direct-injection'], BY_API),
  except(SECRET, ['*', '*', 'cert-manager.io/next-private-key'], BY_API),
  except(SECRET, ['*', '*', 'argocd.argoproj.io/secret-type'], 'Argo CD selects it by its label'),
  except(SECRET, ['*', '*', 'sealedsecrets.bitnami.com/sealed-secrets-key'], BY_API),
]
