"""A year of a small made-up bookshop: a table of the quarters and a chart of the months."""

import matplotlib.pyplot as plt
import pandas as pd

sales = pd.read_csv("sales.csv", parse_dates=["month"])
sales["revenue"] = sales["sold"] * sales["price"]

by_quarter = sales.groupby([sales["month"].dt.quarter, "shelf"])["revenue"].sum().unstack()
by_quarter["all"] = by_quarter.sum(axis="columns")
by_quarter.index = [f"Q{quarter} 2025" for quarter in by_quarter.index]
print(by_quarter.round().astype(int).to_string())

by_month = sales.pivot(index="month", columns="shelf", values="revenue")
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
for shelf in by_month.columns:
    axes.plot(by_month.index, by_month[shelf], marker="o", markersize=4, linewidth=2, label=shelf)
axes.set_title("Revenue of a small bookshop, by shelf")
axes.set_ylabel("euro a month")
axes.set_ylim(bottom=0)
axes.legend(frameon=False, ncols=3, loc="upper left")
axes.spines[["top", "right"]].set_visible(False)
axes.grid(axis="y", alpha=0.3)
plt.show()

best = by_month.sum(axis="columns").idxmax()
result = f"best month: {best:%B %Y}, {by_month.loc[best].sum():,.0f} euro"
