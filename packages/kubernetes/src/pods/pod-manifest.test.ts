import { podSettings } from '@berth/testing/kubernetes/pod-settings.ts'
import { describe, expect, it } from 'vitest'
import { podTemplate } from './pod-manifest.ts'

const owner = { deployment: 'd1', instance: 'one' }
interface Container {
  readonly name: string
  readonly image: string
  readonly env?: readonly { readonly name: string; readonly value: string }[]
  readonly securityContext: Readonly<Record<string, unknown>>
  readonly resources: { readonly limits: Readonly<Record<string, string>> }
  readonly volumeMounts: readonly { readonly name: string; readonly readOnly?: boolean }[]
}
interface Manifest {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> }
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly containers: readonly Container[]
    readonly volumes: readonly Readonly<Record<string, unknown>>[]
  }
}
const made = (changes: Parameters<typeof podSettings>[0] = {}) =>
  podTemplate(owner, podSettings(changes)).manifest('10.0.0.1') as Manifest

describe("a pod's manifest", () => {
  it('is admitted by the restricted profile of the Pod Security Standards', () => {
    const { spec } = made()
    for (const member of ['hostNetwork', 'hostPID', 'hostIPC']) expect(spec).not.toHaveProperty(member)
    expect(spec['securityContext']).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    for (const { securityContext } of spec.containers) {
      expect(securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        privileged: false,
        readOnlyRootFilesystem: true,
        runAsNonRoot: true,
      })
    }
    const kinds = spec.volumes.flatMap(volume => Object.keys(volume).filter(key => key !== 'name'))
    expect(new Set(kinds)).toEqual(new Set(['emptyDir', 'projected']))
  })

  it('shows the token to the host alone, which is another user than the sandbox', () => {
    const { spec } = made()
    expect(spec).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false })
    const holding = spec.containers.filter(({ volumeMounts }) => volumeMounts.some(({ name }) => name === 'token'))
    expect(holding.map(({ name }) => name)).toEqual(['host'])
    const [host, agent, files] = spec.containers.map(({ securityContext }) => securityContext['runAsUser'])
    expect(host).not.toBe(agent)
    // Its programs own the files that the container `files` works at.
    expect(files).toBe(agent)
    expect(spec['securityContext']).not.toHaveProperty('fsGroup')
    expect(JSON.stringify(spec.volumes)).toContain('"audience":"berth"')
  })

  it('lets the sandbox write its own files alone, and not pass for the container that works at them', () => {
    const writes = (name: string) =>
      made()
        .spec.containers.find(one => one.name === name)
        ?.volumeMounts.flatMap(mount => (mount.readOnly === true ? [] : [mount.name]))
    expect(writes('agent')).toEqual(['workspace', 'home', 'tmp'])
    expect(writes('files')).toEqual(['workspace', 'home', 'baselines', 'scratch'])
    const sees = made()
      .spec.containers.find(({ name }) => name === 'agent')
      ?.volumeMounts.map(({ name }) => name)
    for (const hidden of ['files-line', 'baselines', 'host', 'token']) expect(sees).not.toContain(hidden)
  })

  it('bounds memory, processors and disk, and each volume', () => {
    const { spec } = made()
    const agent = spec.containers.find(({ name }) => name === 'agent')
    expect(agent?.resources.limits).toEqual({
      cpu: '1500m',
      memory: String(2 * 1024 ** 3),
      'ephemeral-storage': String(4 * 1024 ** 3),
    })
    for (const { emptyDir } of spec.volumes) {
      if (emptyDir !== undefined) expect(emptyDir).toMatchObject({ sizeLimit: expect.stringMatching(/^\d+Mi$/) })
    }
  })

  it('asks no name server for the one name that it needs', () => {
    expect(made().spec).toMatchObject({
      dnsPolicy: 'None',
      hostAliases: [{ ip: '10.0.0.1', hostnames: ['berth-hosts.berth.svc'] }],
    })
  })

  it('has a runtime class and nodes only if they are set', () => {
    for (const member of ['runtimeClassName', 'nodeSelector']) {
      expect(made().spec).not.toHaveProperty(member)
    }
    expect(made({ runtimeClass: 'gvisor', nodeSelector: { a: 'b' } }).spec).toMatchObject({
      runtimeClassName: 'gvisor',
      nodeSelector: { a: 'b' },
    })
  })

  it('is another template for other settings, and the same for another address', () => {
    const one = podTemplate(owner, podSettings())
    expect(podTemplate(owner, podSettings()).name).toBe(one.name)
    expect(podTemplate(owner, podSettings({ image: 'other' })).name).not.toBe(one.name)
    expect(made().metadata.labels['berth.dev/template']).toBe(one.name)
    expect(Object.values(made().metadata.labels).every(value => /^[A-Za-z0-9][\w.-]{0,62}$/.test(value))).toBe(true)
  })
})
