/** The purpose of an integration, by product. Other products are slugs of the organization's own apps. */
const labels: Readonly<Record<string, string>> = { 'svc-cloud': 'Berth Cloud', 'svc-ai': 'AI gateway' }

/** Returns a product's name. */
export function productName(product: string): string {
  return labels[product] ?? product
}

/** Products of the service itself. */
export const ownProducts = Object.keys(labels)

/** Returns the usual capabilities of a product's integration. */
export function usualGrant(product: string): readonly string[] {
  if (product === 'svc-ai') return ['svc.ai.invoke']
  return [
    'svc.cloud.access',
    'svc.cloud.sessions:read',
    'svc.cloud.sessions:create',
    'svc.cloud.turns:submit',
    'environments:use',
  ]
}
