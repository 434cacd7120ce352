import { createHash } from 'node:crypto'
import { SANDBOX_GROUP, SANDBOX_VERSION } from '../api/observe-sandbox.ts'
import { TEMPLATE_LABEL } from './plan.ts'
import type { PodTemplate } from './pod-manifest.ts'

interface PodManifest {
  readonly metadata: {
    readonly generateName: string
    readonly namespace: string
    readonly labels: Readonly<Record<string, string>>
  }
  readonly spec: object
}

/** A manifest for any number of Sandboxes. Its name differs from that of the pods that are made without them. */
export interface SandboxTemplate {
  readonly name: string
  /**
   * @param address of the hosts' endpoint
   * @param until the cluster ends the Sandbox then, unless it is postponed
   */
  manifest(address: string, until: Date): object
}

/**
 * Returns the manifest of Sandboxes that hold one pod of a template each. The controller gives the pod the labels and the
 * spec of `podTemplate`, and the Sandbox's name.
 */
export function sandboxTemplate(pod: PodTemplate): SandboxTemplate {
  const name = createHash('sha256').update(`${SANDBOX_GROUP}/${SANDBOX_VERSION} ${pod.name}`).digest('hex').slice(0, 16)
  return {
    name,
    manifest(address, until) {
      const { metadata, spec } = pod.manifest(address) as PodManifest
      const labels = { ...metadata.labels, [TEMPLATE_LABEL]: name }
      return {
        apiVersion: `${SANDBOX_GROUP}/${SANDBOX_VERSION}`,
        kind: 'Sandbox',
        metadata: { ...metadata, labels },
        spec: {
          podTemplate: { metadata: { labels }, spec },
          operatingMode: 'Running',
          // Nobody reaches a sandbox.
          service: false,
          shutdownTime: until.toISOString(),
          shutdownPolicy: 'Delete',
        },
      }
    },
  }
}
