/**
 * The protobuf messages that kubectl's own `create` commands and `auth can-i` send, field by field,
 * from Kubernetes' generated.proto.
 *
 * What must stay true: a field is `number:name:type`; types are `s` string, `i` integer, `b`
 * boolean, `y` bytes (base64 in JSON), `q` quantity, `o` integer or string, or a message's name;
 * `i?` and `b?` may be zero and false (pointers in Go; of others a zero is absence); `[]` repeats,
 * `{}` maps strings to it; `-` is read over.
 *
 * Not here: what no such command sends. A field that is missing here is refused by the decoder,
 * never dropped.
 */
const MESSAGES = {
  ConfigMap: '1:metadata:ObjectMeta 4:immutable:b? 2:data:s{} 3:binaryData:y{}',
  Secret: '1:metadata:ObjectMeta 5:immutable:b? 2:data:y{} 4:stringData:s{} 3:type:s',
  Namespace: '1:metadata:ObjectMeta 2:spec:- 3:status:-',
  ServiceAccount:
    '1:metadata:ObjectMeta 2:secrets:LocalObjectReference[] 3:imagePullSecrets:LocalObjectReference[]',
  Service: '1:metadata:ObjectMeta 2:spec:ServiceSpec 3:status:-',
  Deployment: '1:metadata:ObjectMeta 2:spec:DeploymentSpec 3:status:-',
  Job: '1:metadata:ObjectMeta 2:spec:JobSpec 3:status:-',
  CronJob: '1:metadata:ObjectMeta 2:spec:CronJobSpec 3:status:-',
  Role: '1:metadata:ObjectMeta 2:rules:PolicyRule[]',
  ClusterRole: '1:metadata:ObjectMeta 2:rules:PolicyRule[] 3:aggregationRule:AggregationRule',
  RoleBinding: '1:metadata:ObjectMeta 2:subjects:Subject[] 3:roleRef:RoleRef',
  ClusterRoleBinding: '1:metadata:ObjectMeta 2:subjects:Subject[] 3:roleRef:RoleRef',
  PriorityClass:
    '1:metadata:ObjectMeta 2:value:i 3:globalDefault:b 4:description:s 5:preemptionPolicy:s',
  PodDisruptionBudget: '1:metadata:ObjectMeta 2:spec:PodDisruptionBudgetSpec 3:status:-',
  SelfSubjectAccessReview: '1:metadata:ObjectMeta 2:spec:SelfSubjectAccessReviewSpec 3:status:-',
  DeleteOptions:
    '1:gracePeriodSeconds:i? 2:preconditions:Preconditions 3:orphanDependents:b? 4:propagationPolicy:s 5:dryRun:s[]',

  AggregationRule: '1:clusterRoleSelectors:LabelSelector[]',
  Container:
    '1:name:s 2:image:s 3:command:s[] 4:args:s[] 5:workingDir:s 6:ports:ContainerPort[] 7:env:EnvVar[] 8:resources:ResourceRequirements 14:imagePullPolicy:s',
  ContainerPort: '1:name:s 2:hostPort:i 3:containerPort:i 4:protocol:s 5:hostIP:s',
  CronJobSpec:
    '1:schedule:s 8:timeZone:s 2:startingDeadlineSeconds:i? 3:concurrencyPolicy:s 4:suspend:b? 5:jobTemplate:JobTemplateSpec 6:successfulJobsHistoryLimit:i? 7:failedJobsHistoryLimit:i?',
  DeploymentSpec:
    '1:replicas:i? 2:selector:LabelSelector 3:template:PodTemplateSpec 4:strategy:DeploymentStrategy 5:minReadySeconds:i 6:revisionHistoryLimit:i? 7:paused:b 9:progressDeadlineSeconds:i?',
  DeploymentStrategy: '1:type:s 2:rollingUpdate:RollingUpdate',
  EnvVar: '1:name:s 2:value:s',
  JobSpec:
    '1:parallelism:i? 2:completions:i? 3:activeDeadlineSeconds:i? 7:backoffLimit:i? 4:selector:LabelSelector 5:manualSelector:b? 6:template:PodTemplateSpec 8:ttlSecondsAfterFinished:i? 9:completionMode:s 10:suspend:b?',
  JobTemplateSpec: '1:metadata:ObjectMeta 2:spec:JobSpec',
  LabelSelector: '1:matchLabels:s{} 2:matchExpressions:LabelSelectorRequirement[]',
  LabelSelectorRequirement: '1:key:s 2:operator:s 3:values:s[]',
  LocalObjectReference: '1:name:s',
  NonResourceAttributes: '1:path:s 2:verb:s',
  ObjectMeta:
    '1:name:s 2:generateName:s 3:namespace:s 4:selfLink:- 5:uid:s 6:resourceVersion:s 7:generation:i 8:creationTimestamp:- 11:labels:s{} 12:annotations:s{} 13:ownerReferences:OwnerReference[] 14:finalizers:s[] 17:managedFields:-',
  OwnerReference:
    '5:apiVersion:s 1:kind:s 3:name:s 4:uid:s 6:controller:b? 7:blockOwnerDeletion:b?',
  PodDisruptionBudgetSpec: '1:minAvailable:o 2:selector:LabelSelector 3:maxUnavailable:o',
  PodSpec:
    '2:containers:Container[] 3:restartPolicy:s 4:terminationGracePeriodSeconds:i? 6:dnsPolicy:s 7:nodeSelector:s{} 8:serviceAccountName:s 10:nodeName:s 14:securityContext:-',
  PodTemplateSpec: '1:metadata:ObjectMeta 2:spec:PodSpec',
  PolicyRule:
    '1:verbs:s[] 2:apiGroups:s[] 3:resources:s[] 4:resourceNames:s[] 5:nonResourceURLs:s[]',
  Preconditions: '1:uid:s 2:resourceVersion:s',
  ResourceAttributes:
    '1:namespace:s 2:verb:s 3:group:s 4:version:s 5:resource:s 6:subresource:s 7:name:s',
  ResourceRequirements: '1:limits:q{} 2:requests:q{}',
  RoleRef: '1:apiGroup:s 2:kind:s 3:name:s',
  RollingUpdate: '1:maxUnavailable:o 2:maxSurge:o',
  SelfSubjectAccessReviewSpec:
    '1:resourceAttributes:ResourceAttributes 2:nonResourceAttributes:NonResourceAttributes',
  ServicePort: '1:name:s 2:protocol:s 6:appProtocol:s 3:port:i 4:targetPort:o 5:nodePort:i',
  ServiceSpec:
    '1:ports:ServicePort[] 2:selector:s{} 3:clusterIP:s 18:clusterIPs:s[] 4:type:s 5:externalIPs:s[] 7:sessionAffinity:s 10:externalName:s',
  Subject: '1:kind:s 2:apiGroup:s 3:name:s 4:namespace:s',
} as const

export interface Field {
  readonly name: string
  readonly type: string
  readonly shape: 'one' | 'list' | 'map'
  /** A zero is a value, not an absence. */
  readonly isPointer: boolean
}

export type Message = ReadonlyMap<number, Field>

const PARSED: ReadonlyMap<string, Message> = new Map(
  Object.entries(MESSAGES).map(([name, text]) => [name, parse(text)]),
)

export function messageOf(name: string): Message | undefined {
  return PARSED.get(name)
}

function parse(text: string): Message {
  const fields = text.split(' ').map((part) => {
    const [number, name, type] = part.split(':') as [string, string, string]
    const shape = type.endsWith('[]') ? 'list' : type.endsWith('{}') ? 'map' : 'one'
    const isPointer = type.endsWith('?')
    const field: Field = { name, type: type.replace(/\[\]|\{\}|\?/, ''), shape, isPointer }
    return [Number(number), field] as const
  })
  return new Map(fields)
}
