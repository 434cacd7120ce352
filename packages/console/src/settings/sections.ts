import { Bell, CircleHelp, GitBranch, Keyboard, type LucideIcon, MonitorSmartphone, Palette, User } from 'lucide-react'
import { to } from '../routing/to.ts'

/** The pages of the settings, in their order. */
export const settingsSections: readonly {
  readonly id: string
  readonly label: string
  readonly icon: LucideIcon
  readonly to: { readonly to: string }
  /** Words by which people look for it. */
  readonly also: string
}[] = [
  { id: 'profile', label: 'Profile', icon: User, to: to.profile(), also: 'account name password email' },
  { id: 'browsers', label: 'Browsers', icon: MonitorSmartphone, to: to.browsers(), also: 'sign out devices signed in' },
  { id: 'git', label: 'Git accounts', icon: GitBranch, to: to.gitAccounts(), also: 'github access' },
  {
    id: 'appearance',
    label: 'Appearance',
    icon: Palette,
    to: to.appearance(),
    also: 'theme dark light font size density motion',
  },
  { id: 'notifications', label: 'Notifications', icon: Bell, to: to.notifications(), also: 'push alerts phone' },
  { id: 'shortcuts', label: 'Shortcuts', icon: Keyboard, to: to.shortcuts(), also: 'keyboard keys' },
  { id: 'help', label: 'Help', icon: CircleHelp, to: to.help(), also: 'documentation support version status' },
]
