import type { ManifestObject } from '../lib/helm.ts'

interface Validator {
  (data: unknown): boolean
  readonly errors?:
    | readonly { readonly instancePath: string; readonly keyword: string; readonly params: object }[]
    | null
}

/**
 * Returns the faults of an object by the published schemas of Kubernetes 1.36, as the npm package `kubernetes-models` has them;
 * fields that the schemas do not know are faults too, since an API server drops them.
 * @throws Error if Kubernetes has no such kind
 */
export async function schemaFaults(object: ManifestObject): Promise<readonly string[]> {
  const { apiVersion, kind } = object
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion]
  const name = `IoK8sApi${capital(group.split('.')[0] ?? '')}${capital(version)}${kind}`
  const { validate } = (await import(`kubernetes-models/_schemas/${name}`)) as { readonly validate: Validator }
  const unread: (() => readonly string[])[] = []
  const valid = validate(watched(object, '', unread))
  const faults = valid ? [] : (validate.errors ?? [])
  return [
    ...faults.map(({ instancePath, keyword, params }) => `${instancePath} ${keyword} ${JSON.stringify(params)}`),
    ...unread.flatMap(paths => paths()).map(path => `${path} is not known`),
  ]
}

/**
 * Wraps a value so that each field which nobody reads is found: the package's validators read those that a schema names, and
 * pass over all others.
 */
function watched(value: unknown, path: string, unread: (() => readonly string[])[]): unknown {
  if (typeof value !== 'object' || value === null) return value
  const fields = value as Readonly<Record<string, unknown>>
  const read = new Map<string, unknown>()
  unread.push(() =>
    Array.isArray(value)
      ? []
      : Object.keys(fields)
          .filter(name => !read.has(name))
          .map(name => `${path}/${name}`),
  )
  return new Proxy(fields, {
    get(_, name) {
      if (typeof name === 'symbol') return Reflect.get(fields, name)
      if (!read.has(name)) read.set(name, watched(fields[name], `${path}/${name}`, unread))
      return read.get(name)
    },
  })
}

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
