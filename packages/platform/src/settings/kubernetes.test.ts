import { describe, expect, it } from 'vitest'
import { loadSettings } from './settings.ts'

describe('pods of a cluster', () => {
  const pods = {
    BERTH_KUBERNETES_IMAGE: 'registry.test/agent:1',
    BERTH_KUBERNETES_HOST_IMAGE: 'registry.test/berth:1',
    BERTH_KUBERNETES_HOSTS_URL: 'http://berth-hosts.berth.svc:4101',
    BERTH_HOSTS_PORT: '4101',
  }
  const read = (variables: Record<string, string>) => loadSettings(variables, () => undefined)

  it('are made only if an image is named', () => {
    expect(read({}).kubernetes).toBeUndefined()
    expect(read(pods).kubernetes).toMatchObject({
      api: 'https://kubernetes.default.svc',
      namespace: 'berth-sandboxes',
      idle: 2,
      serviceAccount: 'berth-sandbox',
      startMs: 300_000,
    })
    expect(read({ ...pods, BERTH_KUBERNETES_NODE_SELECTOR: 'a.b/c=d, e=f' }).kubernetes).toMatchObject({
      nodeSelector: { 'a.b/c': 'd', e: 'f' },
    })
    expect(read({ ...pods, BERTH_KUBERNETES_INSTANCE: 'two' }).kubernetes?.serviceAccount).toBe('two-sandbox')
  })

  it.each([
    ['BERTH_KUBERNETES_HOST_IMAGE', ''],
    ['BERTH_KUBERNETES_HOSTS_URL', ''],
    ['BERTH_HOSTS_PORT', ''],
    ['BERTH_KUBERNETES_HOSTS_URL', 'berth-hosts:4101'],
    ['BERTH_KUBERNETES_INSTANCE', 'One_'],
    ['BERTH_KUBERNETES_NODE_SELECTOR', 'a'],
  ])('are refused if %s is %j', (name, value) => {
    expect(() => read({ ...pods, [name]: value })).toThrow(name)
  })
})
