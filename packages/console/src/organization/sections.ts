import type { ConsoleFeatures } from '@berth/contract'
import {
  Activity,
  AppWindow,
  Blocks,
  ChartColumn,
  Cpu,
  FolderGit2,
  Gauge,
  KeyRound,
  type LucideIcon,
  ScrollText,
  Server,
  Users,
  Webhook,
  Zap,
} from 'lucide-react'
import type { Membership } from '../api/identity.ts'
import { to } from '../routing/to.ts'
import { meetsRequirement, type Requirement } from './requirement.ts'

/** A part of the organization's pages. */
export interface Section {
  readonly id: string
  readonly label: string
  readonly icon: LucideIcon
  /** The requirement for using it. Other members see a page that names it. */
  readonly needs: Requirement
  readonly to: { readonly to: string }
  /** The feature without which the service has no such part. */
  readonly feature?: 'triggers'
}

/** The navigation of the organization's pages, in groups. */
const sectionGroups: readonly { readonly label: string; readonly sections: readonly Section[] }[] = [
  {
    label: 'People',
    sections: [{ id: 'members', label: 'Members', icon: Users, needs: 'administrator', to: to.members() }],
  },
  {
    label: 'Access',
    sections: [
      {
        id: 'integrations',
        label: 'Integrations',
        icon: KeyRound,
        needs: 'organization.integrations.manage',
        to: to.integrations(),
      },
      {
        id: 'installations',
        label: 'Installed apps',
        icon: Blocks,
        needs: 'organization.integrations.manage',
        to: to.installations(),
      },
      {
        id: 'triggers',
        label: 'Triggers',
        icon: Zap,
        needs: 'organization.integrations.manage',
        to: to.triggers(),
        feature: 'triggers',
      },
      {
        id: 'apps',
        label: 'Apps',
        icon: AppWindow,
        needs: 'organization.applications.manage',
        to: to.apps(),
      },
      {
        id: 'webhooks',
        label: 'Webhooks',
        icon: Webhook,
        needs: 'organization.applications.manage',
        to: to.webhooks(),
      },
      { id: 'git', label: 'Git hosts', icon: FolderGit2, needs: 'administrator', to: to.git() },
    ],
  },
  {
    label: 'Operations',
    sections: [
      { id: 'usage', label: 'Usage', icon: ChartColumn, needs: 'membership', to: to.usage() },
      { id: 'models', label: 'Models', icon: Cpu, needs: 'membership', to: to.models() },
      { id: 'limits', label: 'Limits', icon: Gauge, needs: 'administrator', to: to.limits() },
      { id: 'compute', label: 'Machines', icon: Server, needs: 'administrator', to: to.compute() },
      { id: 'audit', label: 'Audit log', icon: ScrollText, needs: 'administrator', to: to.audit() },
      { id: 'health', label: 'Health', icon: Activity, needs: 'administrator', to: to.health() },
    ],
  },
]

/** Returns the navigation of a service with these features. */
export const sectionGroupsOf = (features: ConsoleFeatures): typeof sectionGroups =>
  sectionGroups.map(({ label, sections }) => ({
    label,
    sections: sections.filter(({ feature }) => feature === undefined || features[feature]),
  }))

const sections = sectionGroups.flatMap(group => group.sections)

/** Returns the section that `/organization` leads a member to. */
export function firstSection(membership: Membership): Section {
  const first = sections.find(({ needs }) => meetsRequirement(needs, membership)) ?? sections[0]
  if (first === undefined) throw new Error('the organization has no pages')
  return first
}
