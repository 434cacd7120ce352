import type { Integration } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import { useRouteContext, useRouter } from '@tanstack/react-router'
import { call } from '../../api/client.ts'
import { to } from '../../routing/to.ts'
import { GrantFields } from '../access/grant-fields.tsx'
import { appsQuery, refreshAccess } from '../access/queries.ts'
import { nameFault } from '../apps/app-fields.ts'
import { keptAs } from '../dialogs.ts'
import { ChoiceField, FormDialog, TextField } from '../form-dialog.tsx'
import { useKeptForm } from '../kept-form.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { meetsRequirement } from '../requirement.ts'
import { ownProducts, productName, usualGrant } from './product-labels.ts'

/** Makes an integration, and goes on to its first key. */
export function NewIntegration({ organizationId, onClose }: { organizationId: string; onClose: () => void }) {
  const { viewer } = useRouteContext({ from: '/shell' })
  const router = useRouter()
  const can = useOrganizationCan()
  const apps = useQuery({
    ...appsQuery(organizationId),
    enabled: meetsRequirement('organization.applications.manage', viewer.membership),
  })
  const products = [...ownProducts, ...(apps.data ?? []).map(({ slug }) => slug)]
  const form = useKeptForm({
    name: keptAs('new'),
    initial: { name: '', product: 'svc-cloud', capabilities: usualGrant('svc-cloud') },
    faultsOf: ({ name, capabilities }) => ({
      name: nameFault(name),
      capabilities: capabilities.length === 0 ? 'Allow at least one thing.' : undefined,
    }),
    send: values =>
      call<{ integration: Integration }>('POST', `account/organizations/${organizationId}/integrations`, {
        ...values,
        name: values.name.trim(),
      }),
    onSent: ({ integration }) => {
      refreshAccess(organizationId)
      return router.navigate(to.integration(integration.id, { dialog: 'key' }))
    },
  })
  const { fields, values } = form
  return (
    <FormDialog title="New integration" act="Create" form={form} verdict={can('createIntegration')} onClose={onClose}>
      <TextField
        form={form}
        name="name"
        label="Name"
        hint="What uses it, such as “CI of the web shop”. The audit log says it."
        maxLength={100}
        autoFocus
      />
      <ChoiceField
        label="For"
        hint="An app of yours gets webhooks for the Sessions of the integration."
        choices={products.map(product => [product, productName(product)])}
        value={values.product}
        onChange={({ target: { value: product } }) => {
          fields.setValue('product', product)
          fields.setValue('capabilities', usualGrant(product))
        }}
      />
      <GrantFields
        value={values.capabilities}
        onChange={capabilities => fields.setValue('capabilities', capabilities)}
      />
    </FormDialog>
  )
}
