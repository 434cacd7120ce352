import type { Integration } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useRouteContext, useRouter } from '@tanstack/react-router'
import { call } from '../../api/client.ts'
import { to } from '../../routing/to.ts'
import { Field, Select } from '../../ui/field.tsx'
import { GrantFields } from '../access/grant-fields.tsx'
import { appsQuery, refreshAccess } from '../access/queries.ts'
import { keptAs } from '../dialogs.ts'
import { FormDialog, TextField } from '../form-dialog.tsx'
import { forgetKept, useKept } from '../kept.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { standsFor } from '../standing.ts'
import { ownProducts, productName, usualGrant } from './product-words.ts'

/** Makes an integration, and goes on to its first key. */
export function NewIntegration({ organizationId, onClose }: { organizationId: string; onClose: () => void }) {
  const { viewer } = useRouteContext({ from: '/shell' })
  const router = useRouter()
  const can = useOrganizationCan()
  const apps = useQuery({
    ...appsQuery(organizationId),
    enabled: standsFor('organization.applications.manage', viewer.membership),
  })
  const products = [...ownProducts, ...(apps.data ?? []).map(({ slug }) => slug)]
  const [form, change] = useKept(keptAs('new'), {
    name: '',
    product: 'svc-cloud',
    capabilities: usualGrant('svc-cloud'),
  })
  const name = form.name.trim()
  const create = useMutation({
    mutationFn: () =>
      call<{ integration: Integration }>('POST', `account/organizations/${organizationId}/integrations`, {
        ...form,
        name,
      }),
    onSuccess: ({ integration }) => {
      forgetKept(keptAs('new'))
      refreshAccess(organizationId)
      return router.navigate(to.integration(integration.id, { dialog: 'key' }))
    },
  })
  const verdict = can('createIntegration')
  const obstacle = name === '' ? 'Enter a name.' : form.capabilities.length === 0 ? 'Allow at least one thing.' : null
  return (
    <FormDialog
      title="New integration"
      act="Create"
      action={create}
      verdict={verdict}
      obstacle={obstacle}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="What uses it, such as “CI of the web shop”. The audit log says it."
        maxLength={100}
        autoFocus
        value={form.name}
        onChange={name => change({ name })}
      />
      <Field label="For" hint="An app of yours gets webhooks for the Sessions of the integration.">
        {attributes => (
          <Select
            {...attributes}
            value={form.product}
            onChange={event => change({ product: event.target.value, capabilities: usualGrant(event.target.value) })}
          >
            {products.map(product => (
              <option key={product} value={product}>
                {productName(product)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <GrantFields value={form.capabilities} onChange={capabilities => change({ capabilities })} />
    </FormDialog>
  )
}
