import { useRouteContext } from '@tanstack/react-router'
import { Lock } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { LearnMore } from '../ui/learn-more.tsx'
import { Page, Title } from '../ui/page.tsx'
import { EmptyState } from '../ui/states.tsx'
import { meetsRequirement, type Requirement, reasonFor } from './requirement.ts'
import { docsOf } from './sections.ts'

/**
 * A page of the organization. Members who may not use it see the requirement, and the page reads nothing. Whoever loses their
 * role on it keeps what they typed until they go; its buttons say why they do nothing.
 */
export function SectionPage(props: {
  title: string
  needs: Requirement
  actions?: ReactNode
  below?: ReactNode
  reading?: boolean
  children: ReactNode
}) {
  const { title, needs, actions, below, reading = false, children } = props
  const { viewer } = useRouteContext({ from: '/shell' })
  const docs = docsOf(title)
  const allowed = meetsRequirement(needs, viewer.membership)
  const [entered] = useState(allowed)
  if (!allowed && !entered) {
    return (
      <Page title={title}>
        <Title>{title}</Title>
        <EmptyState icon={Lock} title="Not for your role">
          {reasonFor(needs)} You are signed in to {viewer.membership.organization.name} as {viewer.membership.role}.
        </EmptyState>
      </Page>
    )
  }
  return (
    <Page
      title={title}
      actions={
        <>
          {docs !== undefined && <LearnMore about={title} docs={docs} />}
          {actions}
        </>
      }
      below={below}
      reading={reading}
    >
      <Title>{title}</Title>
      {children}
    </Page>
  )
}
