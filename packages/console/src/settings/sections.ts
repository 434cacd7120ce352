import { Bell, CircleHelp, GitBranch, Keyboard, type LucideIcon, MonitorSmartphone, Palette, User } from 'lucide-react'
import { to } from '../routing/to.ts'

/** The pages of the settings, in their order. */
export const settingsSections: readonly {
  readonly id: string
  readonly label: string
  readonly icon: LucideIcon
  readonly to: { readonly to: string }
}[] = [
  { id: 'profile', label: 'Profile', icon: User, to: to.profile() },
  { id: 'browsers', label: 'Browsers', icon: MonitorSmartphone, to: to.browsers() },
  { id: 'git', label: 'Git accounts', icon: GitBranch, to: to.gitAccounts() },
  { id: 'appearance', label: 'Appearance', icon: Palette, to: to.appearance() },
  { id: 'notifications', label: 'Notifications', icon: Bell, to: to.notifications() },
  { id: 'shortcuts', label: 'Shortcuts', icon: Keyboard, to: to.shortcuts() },
  { id: 'help', label: 'Help', icon: CircleHelp, to: to.help() },
]
