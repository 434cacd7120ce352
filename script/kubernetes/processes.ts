import type { Values } from './values.ts'

export const ports = { http: 4100, hosts: 4101, relay: 4102 } as const
const USER = 10_000

type Role = keyof Values['replicas']

/** Memory and processors that each process asks for, and may use at most. */
const resources: Readonly<Record<Role, object>> = {
  api: { requests: { cpu: '500m', memory: '512Mi' }, limits: { memory: '2Gi' } },
  account: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } },
  gateway: { requests: { cpu: '500m', memory: '512Mi' }, limits: { memory: '2Gi' } },
  worker: { requests: { cpu: '1', memory: '2Gi' }, limits: { memory: '8Gi' } },
}

/** Labels that select the processes of one role. */
export const labelsOf = (role: Role) => ({ 'app.kubernetes.io/name': 'berth', 'app.kubernetes.io/component': role })

/** Returns the settings of a process that its role decides. */
function settingsOf(role: Role, values: Values): Readonly<Record<string, string>> {
  const { image, namespace, pods, sandboxImage, sandboxNamespace, settings } = values
  return {
    NODE_ENV: 'production',
    BERTH_ROLES: role,
    BERTH_HOST: '0.0.0.0',
    BERTH_PORT: String(ports.http),
    BERTH_DATA_DIR: '/var/lib/berth',
    BERTH_GATEWAY_URL: `http://berth-gateway.${namespace}.svc:${ports.http}`,
    ...settings,
    ...(role === 'worker' && {
      BERTH_COMPUTE: 'remote',
      BERTH_HOSTS_PORT: String(ports.hosts),
      BERTH_RELAY_PORT: String(ports.relay),
      BERTH_RELAY_URL: `http://$(POD_IP):${ports.relay}`,
      BERTH_KUBERNETES_IMAGE: sandboxImage,
      BERTH_KUBERNETES_HOST_IMAGE: image,
      BERTH_KUBERNETES_HOSTS_URL: `http://berth-hosts.${namespace}.svc:${ports.hosts}`,
      BERTH_KUBERNETES_NAMESPACE: sandboxNamespace,
      BERTH_KUBERNETES_IDLE: String(pods.idle),
      BERTH_KUBERNETES_MOST: String(pods.most),
      ...(pods.runtimeClass !== '' && { BERTH_KUBERNETES_RUNTIME_CLASS: pods.runtimeClass }),
    }),
  }
}

/** Returns the Deployment of the processes of one role. */
export function deployment(role: Role, values: Values): object {
  const labels = labelsOf(role)
  const podIp = { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }
  const env = Object.entries(settingsOf(role, values)).map(([name, value]) => ({ name, value }))
  const probe = { httpGet: { path: '/readyz', port: 'http' }, periodSeconds: 5 }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: `berth-${role}`, namespace: values.namespace, labels },
    spec: {
      replicas: values.replicas[role],
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: role === 'worker' ? 'berth-worker' : 'berth',
          automountServiceAccountToken: role === 'worker',
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 60,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: USER,
            runAsGroup: USER,
            fsGroup: USER,
            // A worker confines git and decoders by namespaces, which the usual profile refuses.
            seccompProfile: { type: role === 'worker' ? 'Unconfined' : 'RuntimeDefault' },
          },
          containers: [
            {
              name: 'berth',
              image: values.image,
              args: ['serve'],
              // The address comes first: a later variable names it.
              env: [podIp, ...env],
              envFrom: [{ secretRef: { name: values.secret } }],
              ports: Object.entries(ports)
                .filter(([name]) => name === 'http' || role === 'worker')
                .map(([name, containerPort]) => ({ name, containerPort })),
              readinessProbe: probe,
              livenessProbe: { ...probe, httpGet: { path: '/healthz', port: 'http' }, failureThreshold: 6 },
              startupProbe: { ...probe, failureThreshold: 60 },
              resources: resources[role],
              securityContext: {
                allowPrivilegeEscalation: false,
                capabilities: { drop: ['ALL'] },
                readOnlyRootFilesystem: true,
              },
              volumeMounts: [
                { name: 'data', mountPath: '/var/lib/berth' },
                { name: 'tmp', mountPath: '/tmp' },
              ],
            },
          ],
          volumes: [
            { name: 'data', emptyDir: {} },
            { name: 'tmp', emptyDir: {} },
          ],
        },
      },
    },
  }
}
