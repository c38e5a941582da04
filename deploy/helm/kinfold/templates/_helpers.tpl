{{- define "kinfold.name" -}}
{{- if contains "kinfold" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-kinfold" (.Release.Name | trunc 40 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{- define "kinfold.selector" -}}
app.kubernetes.io/name: kinfold
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "kinfold.labels" -}}
{{ include "kinfold.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "kinfold.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "kinfold.tokenSecret" -}}
{{- .Values.http.existingSecret | default (printf "%s-http-token" (include "kinfold.name" .)) -}}
{{- end -}}

{{- /* Empty where no token is for the metrics alone. */ -}}
{{- define "kinfold.metricsTokenKey" -}}
{{- .Values.http.metricsTokenKey | default (.Values.http.existingSecret | empty | ternary "metrics-token" "") -}}
{{- end -}}

{{- /* As `kinfold rbac` names them: one installation a cluster, so they need no release in their name. */ -}}
{{- define "kinfold.services" -}}
{{- if eq .Values.mode "embedded" -}}
{{- toRawJson (list (dict "name" "up" "account" "kinfold" "port" 7070)) -}}
{{- else -}}
{{- toRawJson (list (dict "name" "watcher" "account" "kinfold-watcher" "port" 7071) (dict "name" "graph" "account" "" "port" 7070) (dict "name" "reaper" "account" "kinfold-reaper" "port" 7072)) -}}
{{- end -}}
{{- end -}}

{{- define "kinfold.scheme" -}}
{{- .Values.http.tls.existingSecret | empty | ternary "http" "https" -}}
{{- end -}}

{{- /* Of the endpoint: certificate and key, and the authority where it is one of yours. */ -}}
{{- define "kinfold.tlsSource" -}}
{{- $tls := .Values.http.tls -}}
secretName: {{ $tls.existingSecret }}
defaultMode: 288
items:
  - { key: tls.crt, path: tls.crt }
  - { key: tls.key, path: tls.key }
  {{- if $tls.caKey }}
  - { key: {{ $tls.caKey | quote }}, path: ca.crt }
  {{- end }}
{{- end -}}

{{- /* Of one service; embedded, the release itself. */ -}}
{{- define "kinfold.workload" -}}
{{- $name := include "kinfold.name" .root -}}
{{- if eq .service "up" -}}{{- $name -}}{{- else -}}{{- printf "%s-%s" $name .service -}}{{- end -}}
{{- end -}}

{{- /* The file that --config names: what is free in `config`, and what other values decide. */ -}}
{{- define "kinfold.config" -}}
{{- $own := dict "apiVersion" "kinfold/v1alpha1" "kind" "Config" "kinds" .Values.kinds "httpTokenFile" "/etc/kinfold/http-token/token" -}}
{{- if include "kinfold.metricsTokenKey" . -}}{{- $_ := set $own "httpMetricsTokenFile" "/etc/kinfold/http-token/metrics-token" -}}{{- end -}}
{{- with .Values.notify -}}
{{- if .existingSecret -}}
{{- $notify := dict -}}
{{- if .secretKey -}}{{- $_ := set $notify "secretFile" "/etc/kinfold/notify/secret" -}}{{- end -}}
{{- if .urlKey -}}{{- $_ := set $notify "urlFile" "/etc/kinfold/notify/url" -}}{{- end -}}
{{- if not $notify -}}{{- fail "notify.existingSecret is used by no key: set notify.secretKey or notify.urlKey" -}}{{- end -}}
{{- $free := $.Values.config.notify | default dict -}}
{{- if not (or .urlKey $free.url) -}}{{- fail "notify.existingSecret needs an address: set notify.urlKey or config.notify.url" -}}{{- end -}}
{{- if and .urlKey $free.url -}}{{- fail "the address of notify is given twice: leave out notify.urlKey or config.notify.url" -}}{{- end -}}
{{- $_ := set $own "notify" $notify -}}
{{- end -}}
{{- end -}}
{{- with .Values.http.tls -}}
{{- if .existingSecret -}}
{{- $_ := set $own "httpTlsCertFile" "/etc/kinfold/http-tls/tls.crt" -}}
{{- $_ := set $own "httpTlsKeyFile" "/etc/kinfold/http-tls/tls.key" -}}
{{- if .caKey -}}{{- $_ := set $own "httpTlsCaFile" "/etc/kinfold/http-tls/ca.crt" -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $contexts := list -}}
{{- if .Values.localCluster.enabled -}}{{- $contexts = append $contexts .Values.localCluster.name -}}{{- end -}}
{{- range .Values.clusters -}}{{- $contexts = append $contexts .context -}}{{- end -}}
{{- if not $contexts -}}{{- fail "no cluster to collect: set localCluster.enabled or list clusters" -}}{{- end -}}
{{- $_ := set $own "contexts" ($contexts | uniq) -}}
{{- if ne (len $contexts) (len ($contexts | uniq)) -}}{{- fail "two clusters have the same context" -}}{{- end -}}
{{- if .Values.archive.enabled -}}
{{- $archive := dict "enabled" true "secrets" .Values.archive.secrets -}}
{{- if .Values.archive.kinds -}}{{- $_ := set $archive "kinds" .Values.archive.kinds -}}{{- end -}}
{{- if .Values.archive.keep -}}{{- $_ := set $archive "keep" .Values.archive.keep -}}{{- end -}}
{{- if .Values.archive.existingSecret -}}{{- $_ := set $archive "keyFile" "/etc/kinfold/archive/key" -}}{{- end -}}
{{- $_ := set $own "archive" $archive -}}
{{- end -}}
{{- if eq .Values.mode "kafka" -}}
{{- $k := .Values.kafka -}}
{{- $kafka := dict "brokers" $k.brokers "application" $k.application "createTopics" $k.createTopics "replicas" ($k.replicas | int) -}}
{{- if $k.tls -}}{{- $_ := set $kafka "tls" true -}}{{- end -}}
{{- if $k.insecure -}}{{- $_ := set $kafka "insecure" true -}}{{- end -}}
{{- if $k.caSecret.name -}}{{- $_ := set $kafka "tlsCa" "/etc/kinfold/kafka-ca/ca.crt" -}}{{- end -}}
{{- if $k.sasl -}}{{- $_ := set $kafka "sasl" $k.sasl -}}{{- end -}}
{{- if $k.schemaRegistry -}}{{- $_ := set $kafka "schemaRegistry" $k.schemaRegistry -}}{{- end -}}
{{- if $k.cloudEvents -}}{{- $_ := set $kafka "cloudEvents" true -}}{{- end -}}
{{- $_ := set $own "kafka" $kafka -}}
{{- if .Values.config.httpAuth -}}{{- fail "config.httpAuth needs a cluster to ask, and the graph of mode kafka has none: use tokens (http.existingSecret)" -}}{{- end -}}
{{- end -}}
{{- $config := deepCopy .Values.config -}}
{{- /* Helm reads YAML 1.1, where the key `on` is the word true. */ -}}
{{- $told := $config.notify | default dict -}}
{{- if hasKey $told "true" -}}{{- $_ := set $config "notify" (merge (dict "on" (index $told "true")) (omit $told "true")) -}}{{- end -}}
{{- toYaml (merge $own $config) -}}
{{- end -}}

{{- /* The account of the pod, as a context with a name of its own. The token is read again when the kubelet renews it. */ -}}
{{- define "kinfold.kubeconfig" -}}
apiVersion: v1
kind: Config
current-context: {{ .Values.localCluster.name }}
clusters:
  - name: {{ .Values.localCluster.name }}
    cluster:
      server: https://kubernetes.default.svc
      certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
users:
  - name: {{ .Values.localCluster.name }}
    user:
      auth-provider:
        name: tokenFile
        config:
          tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
contexts:
  - name: {{ .Values.localCluster.name }}
    context: { cluster: {{ .Values.localCluster.name }}, user: {{ .Values.localCluster.name }} }
{{- end -}}

{{- define "kinfold.kubeconfigPath" -}}
{{- $files := list -}}
{{- if .Values.localCluster.enabled -}}{{- $files = append $files "/etc/kinfold/config/kubeconfig" -}}{{- end -}}
{{- range .Values.clusters -}}{{- $files = append $files (printf "/etc/kinfold/kubeconfig/%s/kubeconfig" .context) -}}{{- end -}}
{{- join ":" $files -}}
{{- end -}}

{{- /* What service `.service` asks Kafka as. */ -}}
{{- define "kinfold.kafkaArgs" -}}
{{- $own := index .root.Values .service "kafka" -}}
{{- $args := list -}}
{{- if $own.username -}}{{- $args = append $args (printf "--sasl-username=%s" $own.username) -}}{{- end -}}
{{- if $own.password.name -}}{{- $args = append $args "--sasl-password-file=/etc/kinfold/kafka-user/password" -}}{{- end -}}
{{- if $own.token.name -}}{{- $args = append $args "--sasl-token-file=/etc/kinfold/kafka-user/token" -}}{{- end -}}
{{- if $own.certificate.name -}}{{- $args = concat $args (list "--tls-cert=/etc/kinfold/kafka-user/user.crt" "--tls-key=/etc/kinfold/kafka-user/user.key") -}}{{- end -}}
{{- toRawJson $args -}}
{{- end -}}

{{- define "kinfold.kafkaSources" -}}
{{- $own := index .root.Values .service "kafka" -}}
{{- $sources := list -}}
{{- if $own.password.name -}}{{- $sources = append $sources (dict "secret" (dict "name" $own.password.name "items" (list (dict "key" $own.password.key "path" "password")))) -}}{{- end -}}
{{- if $own.token.name -}}{{- $sources = append $sources (dict "secret" (dict "name" $own.token.name "items" (list (dict "key" $own.token.key "path" "token")))) -}}{{- end -}}
{{- if $own.certificate.name -}}{{- $sources = append $sources (dict "secret" (dict "name" $own.certificate.name "items" (list (dict "key" $own.certificate.certKey "path" "user.crt") (dict "key" $own.certificate.keyKey "path" "user.key")))) -}}{{- end -}}
{{- toRawJson $sources -}}
{{- end -}}

{{- /* The pod of `.service`, from `metadata` on. */ -}}
{{- define "kinfold.pod" -}}
{{- $root := .root -}}
{{- $v := $root.Values -}}
{{- $service := .service -}}
{{- $values := index $v (eq $service "up" | ternary "embedded" $service) -}}
{{- $asksClusters := ne $service "graph" -}}
{{- $isLocal := and $asksClusters $v.localCluster.enabled -}}
{{- $keepsData := has $service (list "up" "graph") -}}
{{- $usesKafka := ne $service "up" -}}
{{- $sources := list -}}
{{- if $usesKafka -}}{{- $sources = include "kinfold.kafkaSources" (dict "root" $root "service" $service) | fromJsonArray -}}{{- end -}}
metadata:
  labels:
    {{- include "kinfold.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $service }}
    {{- with $v.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # Settings are read at the start.
    checksum/config: {{ printf "%s\n%s" (include "kinfold.config" $root) (include "kinfold.kubeconfig" $root) | sha256sum }}
    {{- with $v.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ $isLocal | ternary .account "default" }}
  automountServiceAccountToken: {{ $isLocal }}
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ $v.terminationGracePeriodSeconds }}
  {{- with $v.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $v.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: RuntimeDefault }
  containers:
    - name: {{ $service }}
      image: {{ include "kinfold.image" $root | quote }}
      imagePullPolicy: {{ $v.image.pullPolicy }}
      args:
        - {{ $service }}
        - --config=/etc/kinfold/config/config.yaml
        - --http=0.0.0.0:{{ .port }}
        {{- if and $keepsData $v.audit.existingSecret }}
        - --audit-token-file=/etc/kinfold/audit/tokens
        {{- end }}
        {{- if $usesKafka }}
        {{- range include "kinfold.kafkaArgs" (dict "root" $root "service" $service) | fromJsonArray }}
        - {{ . | quote }}
        {{- end }}
        {{- end }}
        {{- if eq $service "graph" }}
        - --standbys={{ $v.graph.standbys }}
        - --http-advertise=$(POD_NAME).{{ include "kinfold.workload" . }}.{{ $root.Release.Namespace }}.svc:{{ .port }}
        {{- end }}
      env:
        - name: POD_NAME
          valueFrom: { fieldRef: { fieldPath: metadata.name } }
        - name: KINFOLD_SERVER
          value: {{ include "kinfold.scheme" $root }}://127.0.0.1:{{ .port }}
        {{- if $v.http.tls.caKey }}
        - name: KINFOLD_CERTIFICATE_AUTHORITY
          value: /etc/kinfold/http-tls/ca.crt
        {{- end }}
        - name: KINFOLD_TOKEN_FILE
          value: /etc/kinfold/http-token/token
        {{- if $asksClusters }}
        - name: KUBECONFIG
          value: {{ include "kinfold.kubeconfigPath" $root }}
        {{- end }}
        {{- with $v.telemetryEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - { name: http, containerPort: {{ .port }} }
      # The endpoint is served once the log is open: a large one, or topics that are still missing, take a while.
      startupProbe:
        httpGet: { path: /livez, port: http, scheme: {{ include "kinfold.scheme" $root | upper }} }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 120
      livenessProbe:
        httpGet: { path: /livez, port: http, scheme: {{ include "kinfold.scheme" $root | upper }} }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: http, scheme: {{ include "kinfold.scheme" $root | upper }} }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 3
      resources:
        {{- toYaml $values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      volumeMounts:
        - { name: config, mountPath: /etc/kinfold/config, readOnly: true }
        - { name: http-token, mountPath: /etc/kinfold/http-token, readOnly: true }
        {{- if $v.http.tls.existingSecret }}
        - { name: http-tls, mountPath: /etc/kinfold/http-tls, readOnly: true }
        {{- end }}
        {{- if $v.notify.existingSecret }}
        - { name: notify, mountPath: /etc/kinfold/notify, readOnly: true }
        {{- end }}
        - { name: cache, mountPath: /var/cache/kinfold }
        {{- if $keepsData }}
        - { name: data, mountPath: /var/lib/kinfold }
        {{- end }}
        {{- if and $keepsData $v.audit.existingSecret }}
        - { name: audit-tokens, mountPath: /etc/kinfold/audit, readOnly: true }
        {{- end }}
        {{- if and $v.archive.enabled $v.archive.existingSecret }}
        - { name: archive-key, mountPath: /etc/kinfold/archive, readOnly: true }
        {{- end }}
        {{- if and $usesKafka $v.kafka.caSecret.name }}
        - { name: kafka-ca, mountPath: /etc/kinfold/kafka-ca, readOnly: true }
        {{- end }}
        {{- if $sources }}
        - { name: kafka-user, mountPath: /etc/kinfold/kafka-user, readOnly: true }
        {{- end }}
        {{- if $asksClusters }}
        {{- range $index, $cluster := $v.clusters }}
        - { name: kubeconfig-{{ $index }}, mountPath: {{ printf "/etc/kinfold/kubeconfig/%s" $cluster.context | quote }}, readOnly: true }
        {{- end }}
        {{- end }}
  volumes:
    - name: config
      configMap: { name: {{ include "kinfold.name" $root }} }
    # Kinfold refuses secrets that other users may read. 288 is 0440 in octal, which not all readers of YAML take for octal.
    - name: http-token
      secret:
        secretName: {{ include "kinfold.tokenSecret" $root }}
        defaultMode: 288
        items:
          - { key: {{ $v.http.tokenKey | quote }}, path: token }
          {{- with include "kinfold.metricsTokenKey" $root }}
          - { key: {{ . | quote }}, path: metrics-token }
          {{- end }}
    {{- with $v.notify }}
    {{- if .existingSecret }}
    - name: notify
      secret:
        secretName: {{ .existingSecret }}
        defaultMode: 288
        items:
          {{- with .secretKey }}
          - { key: {{ . | quote }}, path: secret }
          {{- end }}
          {{- with .urlKey }}
          - { key: {{ . | quote }}, path: url }
          {{- end }}
    {{- end }}
    {{- end }}
    {{- if $v.http.tls.existingSecret }}
    - name: http-tls
      secret:
        {{- include "kinfold.tlsSource" $root | nindent 8 }}
    {{- end }}
    - name: cache
      emptyDir: { medium: Memory, sizeLimit: 64Mi }
    {{- if and $keepsData (not $values.persistence.enabled) }}
    - name: data
      emptyDir: {}
    {{- end }}
    {{- if and $keepsData $v.audit.existingSecret }}
    - name: audit-tokens
      secret:
        secretName: {{ $v.audit.existingSecret }}
        defaultMode: 288
        items: [{ key: {{ $v.audit.key | quote }}, path: tokens }]
    {{- end }}
    {{- if and $v.archive.enabled $v.archive.existingSecret }}
    - name: archive-key
      secret:
        secretName: {{ $v.archive.existingSecret }}
        defaultMode: 288
        items: [{ key: {{ $v.archive.key | quote }}, path: key }]
    {{- end }}
    {{- if and $usesKafka $v.kafka.caSecret.name }}
    - name: kafka-ca
      secret:
        secretName: {{ $v.kafka.caSecret.name }}
        defaultMode: 288
        items: [{ key: {{ $v.kafka.caSecret.key | quote }}, path: ca.crt }]
    {{- end }}
    {{- if $sources }}
    - name: kafka-user
      projected:
        defaultMode: 288
        sources:
          {{- toYaml $sources | nindent 10 }}
    {{- end }}
    {{- if $asksClusters }}
    {{- range $index, $cluster := $v.clusters }}
    - name: kubeconfig-{{ $index }}
      secret:
        secretName: {{ $cluster.existingSecret }}
        defaultMode: 288
        items: [{ key: {{ $cluster.key | default "kubeconfig" | quote }}, path: kubeconfig }]
    {{- end }}
    {{- end }}
  {{- if ne $service "up" }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "kinfold.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ $service }}
    {{- end }}
  {{- end }}
  {{- with $v.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $v.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $v.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- /* A rule for each group, as `kinfold rbac` writes them. */ -}}
{{- define "kinfold.rules" -}}
{{- $groups := dict -}}
{{- range .kinds -}}
{{- $parts := splitn "." 2 . -}}
{{- $group := $parts._1 | default "" -}}
{{- $_ := set $groups $group (append (get $groups $group | default list) $parts._0) -}}
{{- end -}}
{{- $rules := list -}}
{{- range $group := keys $groups | sortAlpha -}}
{{- $rules = append $rules (dict "apiGroups" (list $group) "resources" (get $groups $group | uniq | sortAlpha) "verbs" $.verbs) -}}
{{- end -}}
{{- toRawJson $rules -}}
{{- end -}}

{{- /* Not empty where a rule may set Pods to Failed before they are deleted: failFirst, its own or of a built-in rule. */ -}}
{{- define "kinfold.failsPods" -}}
{{- $fails := .Values.cleanupPolicies.enabled -}}
{{- range .Values.config.rules -}}
{{- if or .failFirst (has .builtin (list "orphaned-pods" "out-of-service-pods" "unscheduled-pods")) -}}{{- $fails = true -}}{{- end -}}
{{- end -}}
{{- ternary "true" "" $fails -}}
{{- end -}}

{{- define "kinfold.subject" -}}
subjects:
  - kind: ServiceAccount
    name: {{ .account }}
    namespace: {{ .root.Release.Namespace }}
{{- end -}}

{{- /* A CEL list of strings, as lock-policy.ts writes it. */ -}}
{{- define "kinfold.cel" -}}
{{- $texts := list -}}
{{- range . -}}{{- $texts = append $texts (toRawJson .) -}}{{- end -}}
[{{ join ", " $texts }}]
{{- end -}}
