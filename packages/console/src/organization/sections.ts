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
  /** Words by which people look for it. */
  readonly also: string
  /** Its place in the documentation. */
  readonly docs: string
}

/** The navigation of the organization's pages, in groups. */
const sectionGroups: readonly { readonly label: string; readonly sections: readonly Section[] }[] = [
  {
    label: 'People',
    sections: [
      {
        id: 'members',
        label: 'Members',
        icon: Users,
        needs: 'administrator',
        to: to.members(),
        also: 'people users team invite invitation role administrator password reset remove',
        docs: 'accounts#people',
      },
    ],
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
        also: 'api key token secret credential service account bot',
        docs: 'apps#use-api-keys-instead',
      },
      {
        id: 'installations',
        label: 'Installed apps',
        icon: Blocks,
        needs: 'organization.integrations.manage',
        to: to.installations(),
        also: 'apps installation access third party revoke',
        docs: 'apps#3-ask-for-an-installation',
      },
      {
        id: 'triggers',
        label: 'Triggers',
        icon: Zap,
        needs: 'organization.integrations.manage',
        to: to.triggers(),
        also: 'schedule cron hook automation github event',
        docs: 'triggers',
        feature: 'triggers',
      },
      {
        id: 'apps',
        label: 'Apps',
        icon: AppWindow,
        needs: 'organization.applications.manage',
        to: to.apps(),
        also: 'oauth client developer register application key',
        docs: 'apps',
      },
      {
        id: 'webhooks',
        label: 'Webhooks',
        icon: Webhook,
        needs: 'organization.applications.manage',
        to: to.webhooks(),
        also: 'endpoint events notify callback delivery signing secret',
        docs: 'webhooks',
      },
      {
        id: 'git',
        label: 'Git hosts',
        icon: FolderGit2,
        needs: 'administrator',
        to: to.git(),
        also: 'github repository connect account local commits signing author',
        docs: 'git-hosts',
      },
    ],
  },
  {
    label: 'Operations',
    sections: [
      {
        id: 'usage',
        label: 'Usage',
        icon: ChartColumn,
        needs: 'membership',
        to: to.usage(),
        also: 'cost spend spending tokens billing report export',
        docs: 'gateway#see-and-bound-costs',
      },
      {
        id: 'models',
        label: 'Models',
        icon: Cpu,
        needs: 'membership',
        to: to.models(),
        also: 'model provider price prices budget openai anthropic api key llm check',
        docs: 'gateway#configure-a-provider',
      },
      {
        id: 'limits',
        label: 'Limits',
        icon: Gauge,
        needs: 'administrator',
        to: to.limits(),
        also: 'budget bound cost quota rate steps retention network hosts egress secrets policy',
        docs: 'gateway#see-and-bound-costs',
      },
      {
        id: 'compute',
        label: 'Machines',
        icon: Server,
        needs: 'administrator',
        to: to.compute(),
        also: 'machine host runner worker own hardware',
        docs: 'hosts#machines-of-an-organization',
      },
      {
        id: 'audit',
        label: 'Audit log',
        icon: ScrollText,
        needs: 'administrator',
        to: to.audit(),
        also: 'log history who export compliance',
        docs: 'accounts#the-audit-log',
      },
      {
        id: 'health',
        label: 'Health',
        icon: Activity,
        needs: 'administrator',
        to: to.health(),
        also: 'status hosts queue works down',
        docs: 'operations#watch-it',
      },
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

/** Returns where the documentation tells of a section; undefined for a page that is none. */
export const docsOf = (label: string): string | undefined => sections.find(section => section.label === label)?.docs

/** Returns the section that `/organization` leads a member to. */
export function firstSection(membership: Membership): Section {
  const first = sections.find(({ needs }) => meetsRequirement(needs, membership)) ?? sections[0]
  if (first === undefined) throw new Error('the organization has no pages')
  return first
}
