import { randomUUID } from 'node:crypto'
import type { StoredDocument } from '@berth/core/environments/document.ts'
import { describe, expect, it } from 'vitest'
import { imageKeyOf } from './image-key.ts'

const lease = { organization_id: randomUUID(), environment_id: randomUUID(), environment_revision: 1 }
const variantFor = (owner_kind: 'person' | 'app_installation', github: boolean) =>
  imageKeyOf(
    lease,
    { github } as StoredDocument,
    { source: null, owner_kind, owner_id: randomUUID() },
    'bubblewrap/x64',
  ).variant

describe('the images of a document with tokens of Git hosts', () => {
  it('are one for all people, who read with the same grants, and one for each installation', () => {
    expect(variantFor('person', true)).toBe(variantFor('person', true))
    expect(variantFor('app_installation', true)).not.toBe(variantFor('app_installation', true))
    expect(variantFor('app_installation', true)).not.toBe(variantFor('person', true))
  })

  it('are one for everybody without', () => {
    expect(variantFor('app_installation', false)).toBe(variantFor('person', false))
  })
})
