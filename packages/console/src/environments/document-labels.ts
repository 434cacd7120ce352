/** Members of a document as people call them. */
const labels: ReadonlyMap<string, string> = new Map(
  Object.entries({
    name: 'Name',
    description: 'Description',
    setup: 'Setup script',
    variables: 'Variables',
    extensions: 'Extensions',
    cache: 'Cache',
    github: 'GitHub access',
    repositories: 'Repositories',
    prebuild: 'Prebuilt start',
    packages: 'System packages',
    checks: 'Checks',
    preview: 'Preview',
    network: 'Network',
    requireVerified: 'Verified changes only',
  }),
)

/** Returns a member's name for people. A path such as `variables.CI` keeps its end; places in lists count from 1. */
export function memberLabel(path: string): string {
  const [member = '', ...inside] = path.split('.')
  return [
    labels.get(member) ?? member,
    ...inside.map(part => (/^\d+$/.test(part) ? `${Number(part) + 1}` : part)),
  ].join(' · ')
}

/** Returns a member's value as the text in which people compare it. */
export function memberText(value: unknown): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return value
  return JSON.stringify(sorted(value), null, 2)
}

/** Variables have no order of their own. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1)))
}
