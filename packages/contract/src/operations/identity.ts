import { Identity } from '../identity.ts'
import { operation } from '../operation.ts'

/** Who the bearer is. */
export const identityOperations = {
  getMe: operation({
    method: 'GET',
    path: '/v1/me',
    summary: 'Read who the bearer is',
    description:
      "For access tokens of people alone. It answers even if the organization has no product access; `capabilities` then leaves the product's out.",
    tag: 'Identity',
    access: 'person',
    needs: 'membership',
    responses: { 200: { description: 'The person, the organization and the membership.', schema: Identity } },
    errors: [],
  }),
} as const
