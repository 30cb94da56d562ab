"""Times as localized text. Independent of widgets."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QDate, QDateTime, QLocale


def when(ms: int) -> str:
    """Format a time, in milliseconds since 1970: the time of day for today and yesterday, else the date."""
    moment = QDateTime.fromMSecsSinceEpoch(ms)
    if not ms or not moment.isValid():
        return QCoreApplication.translate("Times", "at an unknown time")
    clock = QLocale().toString(moment.time(), QLocale.FormatType.ShortFormat)
    days_ago = moment.date().daysTo(QDate.currentDate())
    if days_ago == 0:
        return QCoreApplication.translate("Times", "today, {time}").format(time=clock)
    if days_ago == 1:
        return QCoreApplication.translate("Times", "yesterday, {time}").format(time=clock)
    return QLocale().toString(moment.date(), QLocale.FormatType.ShortFormat)


def day(ms: int) -> str:
    """Format a time, in milliseconds since 1970, as a date."""
    return QLocale().toString(QDateTime.fromMSecsSinceEpoch(ms).date(), QLocale.FormatType.ShortFormat)
